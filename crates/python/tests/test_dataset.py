"""Sweeps on the workers of a Dask cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import firstflight as ff
import pyarrow
import pytest
from distributed import Client, LocalCluster

PROGRAM = os.environ.get("FIRSTFLIGHT") or shutil.which("firstflight")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of two workers, which find the program of these tests."""
    assert PROGRAM, "the wheel has the program"
    monkeypatch.setenv("PATH", str(Path(PROGRAM).parent), prepend=os.pathsep)
    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        yield client


def swept(**more: Any) -> Any:
    # Numbers, percentages, and keys that vary together.
    factors = {"path.rate": [10e6, "20 Mbit/s"], ("path.rtt", "path.loss"): [("20 ms", 0.0), (0.08, "1%")]}
    return ff.sweep(factors, base=ff.preset("cable"), schemes=["slow-start+cubic", "bbr"], sizes=["30 KB"], replications=2, **more)


def test_a_cluster_and_this_process_have_the_same_rows(client: Client, tmp_path: Path) -> None:
    dataset = swept(client=client, out=tmp_path / "sweep")
    assert isinstance(dataset, ff.Dataset) and dataset.report["open"] == ""
    assert dataset.results.num_rows == 2 * 2 * 2 * 2
    here = pyarrow.table(swept().results)
    columns = [name for name in here.column_names if name.startswith("path_")] + ["scheme", "replication"]
    order = [(name, "ascending") for name in columns]
    compared = [*columns, "seed", "completion_s", "retransmits", "packet_hops"]
    assert dataset.results.select(compared).sort_by(order).to_pylist() == here.select(compared).sort_by(order).to_pylist()


def test_a_second_call_computes_nothing_again(client: Client, tmp_path: Path) -> None:
    first = swept(client=client, out=tmp_path / "sweep")
    again = swept(client=client, out=tmp_path / "sweep")
    assert (again.report["parts_made"], again.report["parts_before"]) == (0, first.report["parts"])


def test_what_a_dataset_cannot_have_is_refused_by_name(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ff.Error, match="^client, out: one of them is missing"):
        swept(client=client)
    with pytest.raises(ff.Error, match="path.rate"):
        ff.sweep({"path.rate": [["10 Mbit/s"]]}, base="cable", client=client, out=tmp_path / "sweep")
    with pytest.raises(ff.Error, match="path.rat"):
        ff.sweep({"path.rat": ["10 Mbit/s"]}, base="cable", client=client, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()
