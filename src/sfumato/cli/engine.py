"""Where a fit reads its rows: on this machine, or on a cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import cast

import numpy as np

from sfumato.engines.base import Rows
from sfumato.engines.files import TableFile, layout_of
from sfumato.estimators import PrivateKMeans
from sfumato.parameters import check_whole

# The extra of each engine, and a package that comes with it.
_PACKAGES = {"dask": "distributed", "spark": "pyspark", "compss": "pycompss"}


@dataclass(frozen=True)
class Where:
    """An engine by its name, and the cluster that it starts or finds."""

    engine: str = "auto"
    workers: int | None = None
    scheduler: str | None = None

    @property
    def here(self) -> bool:
        """Whether the rows are read by this process."""
        return self.engine not in _PACKAGES

    def check(self) -> None:
        """Refuse what does not go together, and an engine that is not installed."""
        if self.workers is not None:
            check_whole(self.workers, "--workers")
        if self.here:
            if self.workers is not None or self.scheduler is not None:
                raise ValueError(
                    "--workers and --scheduler are for a cluster: add --engine dask, spark or "
                    "compss; on one machine SFUMATO_THREADS says how many threads read"
                )
        elif find_spec(_PACKAGES[self.engine]) is None:
            raise ImportError(
                f'--engine {self.engine} is not installed: pip install "sfumato[{self.engine}]"'
            )

    def open(
        self, file: TableFile, groups: str | None, max_rows_per_group: int
    ) -> AbstractContextManager[Rows]:
        """Open files on the cluster; what was started for them is closed with them."""
        module = import_module(f"sfumato.engines.{self.engine}")
        opened = getattr(module, f"open_{self.engine}_files")(
            file,
            groups=groups,
            max_rows_per_group=max_rows_per_group,
            workers=self.workers,
            scheduler=self.scheduler,
        )
        return cast(AbstractContextManager[Rows], opened)


def fit_on(where: Where, model: PrivateKMeans, file: TableFile, *, groups: str | None) -> None:
    """Fit a model to files, wherever they are read."""
    if where.here:
        model.fit(file, groups=groups)
        return
    with where.open(file, groups, model.max_rows_per_group) as rows:
        model.fit(rows)
    names = layout_of(file, groups=groups).given_names
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
