"""Sweeps into a dataset of Parquet files, on the workers of a Dask cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import Factors
from ._error import Error
from ._firstflight import Scenario, in_toml

if TYPE_CHECKING:
    import pyarrow
    from distributed import Client


class Dataset:
    """Result of ``sweep`` with a client: a dataset of Parquet files."""

    def __init__(self, path: Path, report: dict[str, Any]) -> None:
        self.path = path
        """Folder of the dataset."""
        self.report = report
        """The object that ``firstflight sweep --json`` prints: ``parts_made`` by this call, ``parts_before`` it, and so on."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and (self.path, self.report) == (other.path, other.report)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self.path, self.report)

    @cached_property
    def results(self) -> pyarrow.Table:
        """Table ``sweep``, a row for each run, in the order of the cells; all of it in memory. Needs pyarrow."""
        import pyarrow.dataset

        return pyarrow.dataset.dataset(self.path, format="parquet").to_table()

    def __repr__(self) -> str:
        return f"<Dataset {str(self.path)!r}: {self.report['parts']} parts, {self.report['runs']} runs>"


def grid(
    factors: Factors,
    *,
    schemes: Sequence[str] | None,
    sizes: Sequence[str] | None,
    profile: str,
    replications: int,
    seed: int | None,
) -> str:
    """The text of a grid over the scenario in the file ``base.toml`` beside it.

    Raises:
        Error: for a value or a scheme that a grid cannot have.
    """
    keys: dict[str, Any] = {"base": "base.toml", "profile": profile, "replications": replications}
    if seed is not None:
        keys["seed"] = seed
    lines = [f"{key} = {in_toml(key, value)}" for key, value in keys.items()]
    for key, values in (("schemes", schemes), ("sizes", sizes)):
        if values is not None:
            lines.append(f"{key} = [{', '.join(in_toml(key, value) for value in values)}]")
    for names, points in factors:
        columns = [f"[{', '.join(in_toml(key, value) for value in column)}]" for key, column in zip(names, zip(*points))]
        keys_of = [in_toml("key", key) for key in names]
        if not points:
            raise Error(f"{', '.join(names)}: no value; expected at least one")
        lines.append("[[factor]]")
        if len(names) == 1:
            lines += [f"key = {keys_of[0]}", f"values = {columns[0]}"]
        else:
            lines.append(f"zip = {{ {', '.join(f'{key} = {values}' for key, values in zip(keys_of, columns))} }}")
    return "\n".join(lines) + "\n"


def sweep(text: str, base: Scenario, out: str | os.PathLike[str], client: Client, memory: str | None) -> Dataset:
    """Run a grid over `base` on the workers of `client` into the folder `out`, or go on where an earlier call stopped.

    Raises:
        Error: if the grid is wrong.
        RuntimeError: if a part fails on a worker.
    """
    from . import on_dask

    with tempfile.TemporaryDirectory(prefix="firstflight-") as folder:
        file = Path(folder, "grid.toml")
        file.write_text(text, encoding="utf-8")
        # Not `to_toml()`, which writes out what follows from other keys: a factor on one of these must reach what follows from it.
        Path(folder, "base.toml").write_text(base.text, encoding="utf-8")
        try:
            report = on_dask.sweep(file, out=out, client=client, memory=memory or "4 GB")
        except ValueError as error:
            raise Error(str(error)) from None
    return Dataset(Path(out), report)
