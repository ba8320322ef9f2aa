"""The datasets that a studio shows: files of a folder and ledgers of a store, of the same name.

A page names a dataset by a number that is made here. No path and no name of a file comes from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato import Curator, Ledger, Number, Schema, TableFile
from sfumato.studio._errors import Redactor, Refusal

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".npy", ".parquet")
DEFAULT_LEDGER = "sfumato-ledger.db"


def opaque(*names: str) -> str:
    """A number that stands for names; it says nothing about them."""
    return sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True)
class Dataset:
    """A dataset by its name: its files in the folder, and whether the store has its ledger."""

    name: str
    files: tuple[Path, ...]
    registered: bool

    @property
    def number(self) -> str:
        """What a page calls it."""
        return opaque(self.name)

    @property
    def file(self) -> Path:
        """The one file with its rows."""
        if not self.files:
            raise Refusal(
                f"The data folder has no file called {self.name} ({', '.join(ENDINGS)}): earlier "
                "releases can be looked at, new fits need the rows.",
                409,
            )
        if len(self.files) > 1:
            names = ", ".join(path.name for path in self.files)
            raise Refusal(
                f"Several files are called {self.name}: {names}. One budget belongs to one of "
                "them: move or rename the others.",
                409,
            )
        return self.files[0]

    @property
    def schema_file(self) -> Path:
        """Where its schema is, or will be."""
        return self.file.with_name(f"{self.name}.toml")


class Folder:
    """A folder of files, and a store of ledgers.

    Without a store one is made in the folder, when the first dataset is registered: a budget that
    is forgotten when the studio ends would promise nothing.
    """

    def __init__(self, folder: Path, ledger: str | None) -> None:
        self.folder = folder.resolve()
        self.ledger = ledger or str(self.folder / DEFAULT_LEDGER)
        self._on_server = self.ledger.startswith(("postgresql://", "postgres://"))
        here = (str(folder.resolve()), str(folder), str(Path.home()))
        store = self.ledger if self._on_server else str(Path(self.ledger).resolve().parent)
        self.redact = Redactor([*here, self.ledger if self._on_server else "", store])

    @property
    def ledger_name(self) -> str:
        """The store as a page may show it: without folders and passwords."""
        return "a PostgreSQL database" if self._on_server else Path(self.ledger).name

    def _registered(self) -> list[str]:
        if not self._on_server and not Path(self.ledger).exists():
            return []
        return Ledger.datasets(self.ledger)

    def datasets(self) -> list[Dataset]:
        """All datasets, by name."""
        files: dict[str, list[Path]] = {}
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            ending = next((e for e in ENDINGS[::-1] if path.name.lower().endswith(e)), None)
            if ending and path.is_file() and not path.name.startswith("."):
                files.setdefault(path.name[: -len(ending)], []).append(path)
        known = self._registered()
        names = sorted({*files, *known})
        return [Dataset(n, tuple(files.get(n, ())), n in known) for n in names]

    def dataset(self, number: str) -> Dataset:
        """A dataset by its number."""
        for each in self.datasets():
            if each.number == number:
                return each
        raise Refusal("There is no such dataset.", 404)

    def open_ledger(self, dataset: Dataset, purpose: str = "") -> Ledger:
        """The ledger of a dataset."""
        if not dataset.registered:
            raise Refusal(f"{dataset.name} has no budget yet: declare its columns first.", 409)
        return Ledger.open(self.ledger, dataset.name, purpose=purpose)


def table_of(path: Path) -> Path | TableFile:
    """A file as it is read: the first line of a text table names its columns."""
    is_text = path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    return TableFile(path, header=True) if is_text else path


def columns_of(dataset: Dataset) -> list[str]:
    """The names of the columns of a file, from its first line alone; of an array, made-up ones."""
    try:
        curator = Curator(table_of(dataset.file), bounds=(0, 1), epsilon=1.0)
    except (OSError, ValueError, TypeError, EOFError):
        raise Refusal(
            f"{dataset.file.name} has no columns that can be read: `sfumato check` in a terminal "
            "says what is wrong with it.",
            409,
        ) from None
    if curator.names is None and not dataset.file.name.lower().endswith(".npy"):
        raise Refusal(f"Several columns of {dataset.file.name} have one name: rename them.", 409)
    return list(curator.names or (f"column{i}" for i in range(curator.n_features)))


def schema_of(dataset: Dataset, ledger: Ledger | None) -> Schema | None:
    """What was declared: in the schema beside the file, or as bounds in the ledger."""
    if dataset.schema_file.is_file():
        return Schema.read(dataset.schema_file)
    if ledger is not None and isinstance(ledger.bounds, Mapping):
        return Schema.of_bounds(ledger.bounds)
    return None


def declare(folder: Folder, dataset: Dataset, wanted: Mapping[str, Any]) -> None:
    """Keep the schema of a dataset beside its file, and its budget in the store.

    Nothing of it can be changed afterwards: other bounds or a larger budget are another promise.
    """
    schema = Schema.from_dict(
        {key: wanted[key] for key in ("groups", "columns") if wanted.get(key)}
    )
    _check(schema, columns_of(dataset))
    known = folder.open_ledger(dataset) if dataset.registered else None
    if known is not None and schema_of(dataset, known) is not None:
        raise Refusal(f"{dataset.name} is declared already, and that never changes.", 409)
    numbers = {name: c for name, c in schema.columns.items() if isinstance(c, Number)}
    rows = (wanted.get("max_rows_per_group") or 1) if schema.groups else None
    # What no fit could use is refused now: it could not be mended later. No row is read.
    Curator(table_of(dataset.file), schema=schema, epsilon=1.0, max_rows_per_group=rows or 1)
    if known is None:
        Ledger.create(
            folder.ledger,
            dataset.name,
            epsilon=_number(wanted, "epsilon"),
            delta=_number(wanted, "delta"),
            max_rows_per_group=rows,
            bounds={name: list(c.ends) for name, c in numbers.items()} or None,
            bounds_source="; ".join(f"{name}: {c.source}" for name, c in numbers.items()),
        )
    schema.write(dataset.schema_file)


def _number(wanted: Mapping[str, Any], name: str) -> float:
    value = wanted.get(name, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refusal(f"{name} must be a number.")
    return float(value)


def _check(schema: Schema, columns: list[str]) -> None:
    """Refuse columns that the file lacks, and bounds or levels of which nobody says the origin."""
    named = [*schema.columns, *([schema.groups] if schema.groups else [])]
    missing = [name for name in named if name not in columns]
    if missing:
        raise Refusal(f"The file has no column {missing[0]!r}.")
    for name, column in schema.columns.items():
        if column.kind != "flag" and not column.source.strip():
            raise Refusal(
                f"Say where the facts about {name!r} come from: bounds and levels are public, and "
                "must not be read from the rows."
            )
