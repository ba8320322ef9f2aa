"""Where rows come from: memory, files, Dask, Spark, COMPSs. Each is loaded at its first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.engines._compss import open_compss_files as open_compss_files
    from sfumato.engines._dask import open_dask as open_dask
    from sfumato.engines._dask import open_dask_files as open_dask_files
    from sfumato.engines._files import TableFile as TableFile
    from sfumato.engines._files import open_file as open_file
    from sfumato.engines._progress import watch as watch
    from sfumato.engines._spark import open_spark as open_spark
    from sfumato.engines._spark import open_spark_files as open_spark_files

_MODULES = {
    "TableFile": "_files",
    "open_compss_files": "_compss",
    "open_dask": "_dask",
    "open_dask_files": "_dask",
    "open_file": "_files",
    "open_spark": "_spark",
    "open_spark_files": "_spark",
    "watch": "_progress",
}

__all__ = [*_MODULES]


def __getattr__(name: str) -> object:
    # Dask, Spark and COMPSs are extras and need not be installed.
    if name in _MODULES:
        return getattr(import_module(f"sfumato.engines.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'sfumato.engines' has no attribute {name!r}")
