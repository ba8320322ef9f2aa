"""`sfumato fit`: private centres of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.box import NanPolicy
from sfumato.cli.bounds import box_of
from sfumato.cli.check import check_rows
from sfumato.cli.columns import Reading, check_groups, columns_bounded
from sfumato.cli.engine import Where, fit_on
from sfumato.cli.paths import check_output
from sfumato.cli.running import passes, print_json
from sfumato.cli.show import console, print_centers, print_receipt, shown
from sfumato.engines.files import TableFile, layout_of
from sfumato.engines.tables import Layout
from sfumato.estimators import PrivateKMeans
from sfumato.methods import METHODS
from sfumato.opening import PRIVATE
from sfumato.parameters import check_delta, check_epsilon, check_whole


@dataclass(frozen=True)
class Request:
    """Everything that was asked for on the command line."""

    data: tuple[str, ...]
    output: Path
    k: str
    epsilon: float
    delta: float
    bounds: list[str] | None
    bounds_file: Path | None
    method: str
    reading: Reading
    n_rows: int | None
    nan: NanPolicy
    groups: str | None
    max_rows_per_group: int
    refuse: bool
    random_state: int | None
    where: Where

    @property
    def title(self) -> str:
        """The data, in a word."""
        return Path(self.data[0]).name if len(self.data) == 1 else f"{len(self.data)} files"

    @property
    def n_clusters(self) -> int | str:
        """The number of centres, or that it is to be chosen."""
        return int(self.k) if self.k.lstrip("+-").isdecimal() else self.k

    def file(self) -> TableFile:
        """The files and the columns of them that are read."""
        return self.reading.file(self.data, columns_bounded(self.bounds, self.bounds_file))


def run(request: Request, *, as_json: bool) -> None:
    """Fit, write the model, and print it. All that can be refused is refused before the charge."""
    _check(request)
    if request.bounds and request.bounds_file is not None:
        raise ValueError("bounds come from --bounds or from --bounds-file, not from both")
    file = request.file()
    layout = layout_of(file, groups=request.groups)
    _check_output(request, *(Path(each.where) for each in layout.table.files if each.local))
    model = _model(request, layout)
    if request.refuse:
        check_rows(layout)
    with passes(f"fitting {request.title}"):
        fit_on(request.where, model, file, groups=request.groups)
    model.save(request.output)
    if as_json:
        print_json({"written_to": str(request.output), **shown(model)})
        return
    out = console()
    k = len(model.cluster_centers_)
    centers = "centre" if k == 1 else "centres"
    out.print(f"{k} private {centers} of {request.title}, by {request.method}")
    print_centers(out, model, layout.titles)
    print_receipt(out, model.receipt_)
    out.print(f"Model written to {request.output}", soft_wrap=True)


def _check(request: Request) -> None:
    """Refuse what is wrong whatever the file holds."""
    if request.n_clusters != "auto":
        if isinstance(request.n_clusters, str):
            raise ValueError(f"-k must be a whole number or auto, got {request.k!r}")
        check_whole(request.n_clusters, "-k")
    check_epsilon(request.epsilon)
    check_delta(request.delta)
    check_groups(request.groups, request.max_rows_per_group)
    if request.n_rows is not None:
        check_whole(request.n_rows, "--n-rows", least=0)
    if request.random_state is not None and not 0 <= request.random_state < 2**32:
        raise ValueError(
            f"--random-state must be a whole number from 0 to 2^32 - 1, got {request.random_state}"
        )
    if request.method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {request.method!r}")
    request.where.check()
    _check_output(request)


def _check_output(request: Request, *files: Path) -> None:
    check_output(request.output, *map(Path, request.data), *files)
    if request.bounds_file is not None:
        check_output(request.output, request.bounds_file)


def _model(request: Request, layout: Layout) -> PrivateKMeans:
    return PrivateKMeans(
        n_clusters=request.n_clusters,
        epsilon=request.epsilon,
        delta=request.delta,
        bounds=_bounds(request, layout),
        method=request.method,
        n_rows=request.n_rows,
        nan=request.nan,
        max_rows_per_group=request.max_rows_per_group,
        random_state=request.random_state,
    )


def _bounds(request: Request, layout: Layout) -> str | tuple[tuple[float, ...], ...]:
    if PRIVATE in (request.bounds or []):
        if request.bounds != [PRIVATE] or request.bounds_file is not None:
            raise ValueError("--bounds private buys the bounds of all columns and stands alone")
        return PRIVATE
    box = box_of(layout, request.bounds, request.bounds_file)
    if box is None:
        raise ValueError(
            "bounds are required, and come from outside the data: --bounds LOW,HIGH, "
            "--bounds COLUMN=LOW,HIGH for each column, --bounds-file FILE, or --bounds private, "
            "which buys them with a quarter of ε"
        )
    return box.lower, box.upper
