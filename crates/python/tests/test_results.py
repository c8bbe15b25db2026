"""Results are those of the command, as tables that other libraries read."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest

import firstflight as ff

REPOSITORY = Path(__file__).resolve().parents[3]
CAPTURE = REPOSITORY / "crates/capture/testdata/p1-reno-1000KB.pcap"
# The true path of the capture, crates/capture/testdata/truth.csv.
TRUE_RATE, TRUE_RTT_MS = 20e6, 60.0
COMMAND = os.environ.get("FIRSTFLIGHT") or shutil.which("firstflight")

TWO_FLOWS = """
title = "Two flows"
[path]
rate = "10 Mbit/s"
rtt = "50 ms"
buffer = "20 packets"
loss = 0.01
[[flow]]
name = "first"
size = "300 KB"
startup = "hystart++"
avoidance = "cubic"
[[flow]]
name = "second"
size = "100 KB"
start = "200 ms"
"""


def command(*arguments: str) -> Any:
    """The JSON of the command."""
    assert COMMAND, "the command firstflight is neither in FIRSTFLIGHT nor on PATH"
    run = subprocess.run([COMMAND, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def without_cost(run: dict[str, Any]) -> dict[str, Any]:
    """The object of a run without the times that differ between two runs."""
    parts = [run, *run.get("runs", [])]
    for part in parts:
        part["engine"]["cpu_s"] = part["engine"]["wall_s"] = None
    return run


def without_origin(comparison: dict[str, Any]) -> dict[str, Any]:
    """The object of a comparison without the program's own names for its call."""
    del comparison["provenance"]["command"], comparison["provenance"]["revision"]
    return comparison


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (["cable", "--scheme", "slow-start+cubic", "--size", "300KB"], {"schemes": ["slow-start+cubic"], "sizes": ["300KB"]}),
        (
            ["lte", "--startup", "slow-start,jump-start", "--avoidance", "reno", "--size", "30KB", "--runs", "5", "--seed", "7"],
            {"startups": ["slow-start", "jump-start"], "avoidance": "reno", "sizes": "30KB", "replications": 5, "seed": 7},
        ),
        (
            ["dsl", "--rtt", "80 ms", "--loss", "1%", "--size", "100KB", "--runs", "3", "--fastest", "--scheme", "bbr"],
            {"rtt": "80 ms", "loss": "1%", "sizes": ["100KB"], "replications": 3, "fastest": True, "schemes": "bbr"},
        ),
    ],
)
def test_a_comparison_is_that_of_the_command(tmp_path: Path, options: list[str], keywords: dict[str, Any]) -> None:
    expected = command("compare", *options, "--out", str(tmp_path))
    assert without_origin(ff.compare(options[0], **keywords).to_dict()) == without_origin(expected)


def test_a_path_of_values_is_that_of_the_command(tmp_path: Path) -> None:
    options = ["--rate", "40 Mbit/s", "--rtt", "100 ms", "--buffer", "1 BDP", "--size", "300KB", "--scheme", "hystart+++cubic"]
    expected = command("compare", *options, "--out", str(tmp_path))
    own = ff.compare(rate="40 Mbit/s", rtt="100 ms", buffer="1 BDP", sizes="300KB", schemes="hystart+++cubic")
    assert without_origin(own.to_dict()) == without_origin(expected)


def test_a_captured_path_is_that_of_the_command(tmp_path: Path) -> None:
    options = ["--scheme", "slow-start+cubic", "--size", "100KB", "--runs", "2"]
    expected = command("compare", str(CAPTURE), *options, "--out", str(tmp_path))
    own = ff.compare(CAPTURE, schemes="slow-start+cubic", sizes="100KB", replications=2)
    assert without_origin(own.to_dict()) == without_origin(expected)
    assert len(own.connections) == len(expected["connections"]) > 0
    assert len(own.estimates) == len(expected["path"]["estimates"]) > 0


@pytest.mark.parametrize("replications", [1, 4])
def test_a_run_is_that_of_the_command(tmp_path: Path, replications: int) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO_FLOWS)
    expected = command("run", str(file), "--runs", str(replications), "--seed", "9")
    own = ff.run(file, replications=replications, seed=9).to_dict()
    assert without_cost(own) == without_cost(expected)


def test_a_congestion_control_of_a_bpf_object_is_a_scheme(tmp_path: Path) -> None:
    objects = REPOSITORY / "crates/bpf/tests/objects"
    keywords: dict[str, Any] = {"schemes": ["bpf-test-reno", "slow-start+reno"], "sizes": ["30KB"], "harm": False}
    comparison = ff.compare("dsl", bpf=objects / "reno.bpf.o", **keywords)
    # The object is Reno (crates/bpf/tests/simulator.rs).
    own, known = (row["completion_s_median"] for row in comparison.results.to_dicts())
    assert own == known
    flow = 'avoidance = "reno"\nstartup = "slow-start"\nsize = "30 KB"\nprofile = "linux"\n'
    scenario = tmp_path / "one.toml"
    scenario.write_text(f'[path]\nrate = "10 Mbit/s"\nrtt = "50 ms"\nbuffer = "1 BDP"\n[[flow]]\n{flow}')
    plain, object_ = ff.run(scenario), ff.run(scenario, schemes="bpf-test-reno", bpf=[objects / "reno.bpf.o"])
    assert object_.flows.to_dicts()[0]["completion_s"] == plain.flows.to_dicts()[0]["completion_s"]
    with pytest.raises(ff.Error, match=r'^bpf = ".*missing.o": cannot be read: '):
        ff.compare("dsl", bpf=tmp_path / "missing.o", **keywords)
    with pytest.raises(ff.Error, match="bpf-test-reno"):
        ff.compare("dsl", **keywords)


def test_the_algorithms_are_those_of_the_command() -> None:
    assert ff.algorithms() == command("algorithms")


def test_the_files_are_those_of_the_command(tmp_path: Path) -> None:
    options = ["--scheme", "slow-start+cubic", "--size", "30KB", "--trace"]
    command("compare", "cable", *options, "--out", str(tmp_path / "command"))
    ff.compare("cable", schemes="slow-start+cubic", sizes="30KB", trace=True).write(tmp_path / "own")
    names = sorted(path.name for path in (tmp_path / "command").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "own").iterdir())
    packets = [name for name in names if name.endswith((".pcapng", ".sqlog"))]
    assert len(packets) == 2
    for name in packets:
        assert (tmp_path / "command" / name).read_bytes() == (tmp_path / "own" / name).read_bytes(), name


def test_a_capture_shows_its_path() -> None:
    path = ff.infer(CAPTURE)
    ranges = {row["field"]: (row["low"], row["high"]) for row in path.results.to_dicts()}
    for field, true in [("rate_bit_s", TRUE_RATE), ("rtt_ms", TRUE_RTT_MS)]:
        low, high = ranges[field]
        assert low <= true <= high, (field, ranges)
        assert low <= path[field] <= high


def comparison() -> ff.Comparison:
    return ff.compare("dsl", schemes=["slow-start+cubic", "jump-start+cubic"], sizes=["30KB", "300KB"], harm=False)


def test_every_table_is_read_by_every_library() -> None:
    run = ff.run(TWO_FLOWS, replications=2, trace=True)
    swept = ff.sweep({"path.rate": ["1 Mbit/s", "2 Mbit/s"]}, base="dsl")
    compared = comparison()
    tables = [run.flows, run.links, run.runs, run.samples, compared.results, compared.replications, compared.windows]
    tables += [compared.connections, compared.estimates, swept.results, ff.infer(CAPTURE).estimates]
    for table in tables:
        names = [column.name for column in table.columns]
        arrow = pyarrow.table(table)
        assert (arrow.column_names, arrow.num_rows) == (names, len(table))
        rows = table.to_dicts()
        assert arrow.to_pylist() == rows
        assert polars.DataFrame(table).to_dicts() == rows
        frame = pandas.DataFrame.from_arrow(table)
        assert (list(frame.columns), len(frame)) == (names, len(table))
        relation = duckdb.sql("select count(*) from arrow")
        assert relation is not None and relation.fetchall() == [(len(table),)]
    assert all(len(table) > 0 for table in tables[:7])


def test_duckdb_reads_a_table_by_the_name_of_its_variable() -> None:
    results = comparison().results
    query = "select scheme, completion_s_median from results where rank = 1 order by size_bytes"
    relation = duckdb.sql(query)
    expected = [(row["scheme"], row["completion_s_median"]) for row in results.to_dicts() if row["rank"] == 1]
    assert relation is not None and relation.fetchall() == expected and len(results) == 4


def addresses(table: ff.Table) -> list[int | None]:
    columns = pyarrow.table(table).columns
    return [buffer and buffer.address for column in columns for buffer in column.chunk(0).buffers()]


def test_a_table_is_not_copied() -> None:
    flows = ff.run(TWO_FLOWS).flows
    # Two readers see the same memory.
    assert addresses(flows) == addresses(flows)
    assert any(addresses(flows))


def test_columns_have_units_and_meanings() -> None:
    results = comparison().results
    field = pyarrow.schema(results).field("completion_s_median")
    assert field.metadata is not None and field.metadata[b"unit"] == b"s"
    column = {column.name: column for column in results.columns}["completion_s_median"]
    assert (column.unit, column.kind, column.nullable) == ("s", "double", True)
    assert column.doc.startswith("Median")


def test_a_table_outlives_its_result() -> None:
    flows = pyarrow.table(ff.run(TWO_FLOWS).flows)
    assert [name.as_py() for name in flows["name"]] == ["first.0", "second.0"]


def test_a_result_agrees_with_its_table() -> None:
    compared = comparison()
    listed = [(it["scheme"], it["size_bytes"], it["completion_s"]["median"]) for it in compared.to_dict()["results"]]
    rows = compared.results.to_dicts()
    assert listed == [(row["scheme"], row["size_bytes"], row["completion_s_median"]) for row in rows]


def test_a_sweep_has_a_row_for_each_run() -> None:
    swept = ff.sweep({"path.rate": ["10 Mbit/s", "20 Mbit/s"]}, base=ff.preset("cable"), replications=3)
    rows = swept.results.to_dicts()
    assert [row["path_rate_bit_s"] for row in rows] == [10e6] * 3 + [20e6] * 3
    assert [row["replication"] for row in rows] == [0, 1, 2] * 2
    slow, fast = rows[0]["completion_s"], rows[3]["completion_s"]
    # 300 KB take at least 8 * 300 000 bits over the rate, and one round trip of 20 ms.
    assert slow > fast and slow >= 2.4e6 / 10e6 + 0.02 and fast >= 2.4e6 / 20e6 + 0.02


def test_a_sweep_runs_what_run_runs() -> None:
    swept = ff.sweep(
        {"path.rate": ["5 Mbit/s", "10 Mbit/s"], "path.loss": [0.0, 0.02]},
        base=TWO_FLOWS,
        schemes=["slow-start+reno", "hystart+++cubic"],
        sizes=["30 KB", "1 MB"],
        replications=2,
        seed=4,
    )
    rows = swept.results.to_dicts()
    assert len(rows) == 2 * 2 * 2 * 2 * 2
    scenario = ff.Scenario(TWO_FLOWS).replace({"path.rate": "10 Mbit/s", "path.loss": 0.02, "flow.first.size": "1 MB"})
    second = ff.run(scenario).flows.to_dicts()[1]
    chains = ["hystart+++cubic", f"{second['startup']}+{second['avoidance']}"]
    run = ff.run(scenario, schemes=chains, replications=2, seed=4).flows.to_dicts()
    cell = [row for row in rows if row["cell"] == 3 and row["scheme"] == "hystart+++cubic" and row["size_bytes"] == 10**6]
    known = [row["completion_s"] for row in run if row["name"] == "first.0"]
    assert [row["completion_s"] for row in cell] == known


def test_the_same_call_gives_the_same_bytes() -> None:
    assert comparison().to_json() == comparison().to_json()


def test_scenarios_are_made_from_texts_files_presets_and_keys(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO_FLOWS)
    text, read = ff.Scenario(TWO_FLOWS), ff.Scenario(file)
    assert text == read == ff.Scenario(str(file)) == ff.Scenario.from_text(TWO_FLOWS)
    keys = ff.Scenario(
        title="Two flows",
        path={"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "20 packets", "loss": 0.01},
        flow=[
            {"name": "first", "size": "300 KB", "startup": "hystart++", "avoidance": "cubic"},
            {"name": "second", "size": "100 KB", "start": "200 ms"},
        ],
    )
    assert keys == text and hash(keys) == hash(text)
    slower = ff.Scenario("cable", path={"rate": "100 Mbit/s"}, flow=[{"size": "30 KB"}])
    assert slower == ff.Scenario("cable", flow=[{"size": "30 KB"}]).replace({"path.rate": "100 Mbit/s"})
    assert slower != ff.Scenario("cable", flow=[{"size": "30 KB"}])
    assert ff.Scenario(slower.to_toml()) == slower


def test_a_scenario_is_pickled() -> None:
    import pickle

    for scenario in [ff.preset("lte"), ff.Scenario(TWO_FLOWS)]:
        assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_results_are_shown_in_notebooks() -> None:
    run, compared = ff.run(TWO_FLOWS), comparison()
    for shown, parts in [
        (run._repr_html_(), ["first.0", "<svg", "300 KB"]),
        (compared._repr_html_(), ["jump-start+cubic", "<svg", "30 KB"]),
        (ff.infer(CAPTURE)._repr_html_(), ["rate_bit_s", "<svg"]),
        (ff.sweep({"path.rate": ["1 Mbit/s"]}, base="dsl")._repr_html_(), ["path_rate_bit_s", "<svg"]),
    ]:
        assert all(part in shown for part in parts), shown
    hostile = ff.Scenario(TWO_FLOWS).replace({"title": "<script>"})
    assert "<script>" not in ff.run(hostile)._repr_html_()
    assert compared.to_html().startswith("<!DOCTYPE html>")
