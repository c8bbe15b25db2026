"""Results are those of the command, as tables that other libraries read."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy
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


def test_a_table_is_a_data_frame_of_each_library() -> None:
    table = comparison().results
    rows = table.to_dicts()
    assert table.to_arrow().to_pylist() == rows and isinstance(table.to_arrow(), pyarrow.Table)
    assert table.to_polars().to_dicts() == rows and isinstance(table.to_polars(), polars.DataFrame)
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["scheme"]) == [row["scheme"] for row in rows]


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ff.run(TWO_FLOWS).flows
    # An import of a module that is None fails as if it were not installed.
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ff.Error, match=f"^{name} is not installed; expected: pip install {name}$"):
        getattr(table, "to_arrow" if name == "pyarrow" else f"to_{name}")()


def test_a_table_has_rows_columns_and_a_head() -> None:
    table = ff.run(TWO_FLOWS, replications=8).flows
    rows = table.to_dicts()
    assert list(table) == rows and len(table) == 16
    assert table.column_names == list(rows[0]) == [column.name for column in table.columns]
    assert table["completion_s"] == [row["completion_s"] for row in rows]
    with pytest.raises(ff.Error, match='did you mean "completion_s"'):
        table["completion"]
    assert table.head().to_dicts() == rows[:5] and table.head(99) == table and table.head(0).to_dicts() == []
    shown = table._repr_html_()
    assert "first.0" in shown and "6 more rows" in shown and shown.count("<tr>") == 1 + 10
    assert "more rows" not in table.head(10)._repr_html_()


def test_the_senders_of_a_capture_are_those_of_the_command(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [sender] = ff.identify(CAPTURE)
    [printed] = command("identify", str(CAPTURE))
    assert sender.to_dict() == dict(sender) == printed
    assert (sender.starts_as, sender.probability, sender.unknown) == tuple(printed[key] for key in ("starts_as", "probability", "unknown"))
    assert sender.stacks[0]["profile"] == "linux"
    keys = tmp_path / "keys.log"
    keys.write_text("CLIENT_TRAFFIC_SECRET_0 ab")
    for call in (ff.identify, ff.infer, ff.compare):
        with pytest.raises(ff.Error, match="line 1: the line does not have three parts"):
            call(CAPTURE, keylog=keys)
    with pytest.raises(ff.Error, match="a key log opens packets of captures"):
        ff.compare("cable", keylog=keys)


def test_an_inferred_path_is_a_mapping_and_a_scenario() -> None:
    path = ff.infer(CAPTURE)
    assert dict(path) == path.to_dict() and len(path) == len(path.to_dict()) and "rtt_ms" in path
    scenario = path.to_scenario(flow=[{"size": 300_000}], path={"loss": 0.0, "buffer": "100 packets"})
    expected = {"rate": path["rate_bit_s"], "rtt": path["rtt_ms"] / 1e3, "buffer": "100 packets", "loss": 0.0}
    assert scenario == ff.Scenario(path=expected, flow=[{"size": 300_000}])
    assert ff.compare(scenario, schemes="slow-start+cubic", sizes="300KB", replications=1).results["scheme"] == ["slow-start+cubic"]
    with pytest.raises(ff.Error, match="^path.rtt: the capture does not determine it"):
        path.to_scenario(path={"rtt": None})


def test_a_comparison_has_the_answer_of_the_command() -> None:
    compared = comparison()
    answer = compared.answer
    assert answer is not None and answer == compared.to_dict()["answer"]
    assert answer["sentence"] and answer["verdict"] in ("change", "keep", "cannot-tell")


def test_runs_that_are_all_the_same_are_reported() -> None:
    fixed = ff.Scenario("cable", flow=[{"size": "30 KB"}])
    with pytest.warns(UserWarning, match="replications = 3: nothing in the scenario is random"):
        run = ff.run(fixed, replications=3)
    assert len(set(run.flows["completion_s"])) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.run(fixed)
        ff.run(TWO_FLOWS, replications=3)


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


def test_keys_in_a_tuple_vary_together() -> None:
    zipped = {("path.rate", "path.rtt"): [("10 Mbit/s", 0.08), (20e6, "40 ms")], "path.loss": [0.0, "1%"]}
    rows = ff.sweep(zipped, base="cable", sizes=30_000).results.to_dicts()
    values = [(row["path_rate_bit_s"], row["path_rtt_s"], row["path_loss"]) for row in rows]
    assert values == [(10e6, 0.08, 0.0), (10e6, 0.08, 0.01), (20e6, 0.04, 0.0), (20e6, 0.04, 0.01)]
    for row, (rate, rtt) in zip(rows[::2], [("10 Mbit/s", "80 ms"), ("20 Mbit/s", "40 ms")]):
        alone = ff.sweep({"path.rate": [rate], "path.rtt": [rtt]}, base="cable", sizes="30 KB").results.to_dicts()[0]
        assert row["completion_s"] == alone["completion_s"]


def test_a_sweep_has_its_rows_as_json() -> None:
    swept = ff.sweep({"path.rate": ["1 Mbit/s", "2 Mbit/s"]}, base="dsl", replications=2)
    assert json.loads(swept.to_json()) == swept.to_dict()
    assert swept.to_dict() == {"factors": ["path.rate"], "rows": swept.results.to_dicts()}


def test_the_same_call_gives_the_same_bytes() -> None:
    assert comparison().to_json() == comparison().to_json()


def test_numbers_are_quantities() -> None:
    common: dict[str, Any] = {"buffer": "1 BDP", "schemes": "slow-start+cubic", "harm": False, "replications": 5}
    texts = ff.compare(rate="40 Mbit/s", rtt="100 ms", loss="1%", sizes=["300 KB"], max_loss="2%", memory="2 GB", **common)
    numbers = ff.compare(rate=40e6, rtt=0.1, loss=0.01, sizes=300_000, max_loss=0.02, memory=2 * 10**9, **common)
    assert numbers == texts
    scalars = ff.compare(
        rate=numpy.float32(40e6), rtt=numpy.float64(0.1), loss=numpy.float64(0.01), sizes=numpy.array([300_000]), max_loss="2%",
        **{**common, "replications": numpy.int64(5), "harm": numpy.bool_(False)},
    )
    assert scalars == texts


def test_a_quantity_is_rounded_to_what_is_representable() -> None:
    # Whole bit/s, nanoseconds and bytes.
    common: dict[str, Any] = {"buffer": "1 BDP", "schemes": "slow-start+cubic", "sizes": ["9 KB"], "harm": False}
    whole = ff.compare(rate="124313588 bit/s", rtt="33333333 ns", **common)
    assert ff.compare(rate="124.31358834728599 Mbit/s", rtt="33.3333333333333333333 ms", **common) == whole
    assert ff.compare(rate=124313588.34728599, rtt=1 / 30, **common) == whole


def test_numbers_are_quantities_of_a_scenario_too() -> None:
    texts = {"rate": "40 Mbit/s", "rtt": "100 ms", "buffer": "9 packets", "loss": 0.01}
    expected = ff.Scenario(path=texts, flow=[{"name": "a", "size": "300 KB", "start": "200 ms"}], duration="9 s")
    numbers = {"rate": 40e6, "rtt": numpy.float64(0.1), "buffer": "9 packets", "loss": "1%"}
    assert ff.Scenario(path=numbers, flow=[{"name": "a", "size": numpy.int32(300_000), "start": 0.2}], duration=9) == expected
    other = ff.Scenario(path=texts | {"rate": "1 Mbit/s", "loss": 0.5}, flow=[{"name": "a", "size": "1 KB"}])
    keys = {"path.rate": 40e6, "path.loss": "1%", "flow.a.size": 300_000, "flow.a.start": 0.2, "duration": 9}
    assert other.replace(keys) == expected
    # A number without a unit keeps its meaning.
    assert ff.Scenario("cable", seed=7, flow=[{"size": 9, "count": numpy.int64(2)}]) == ff.Scenario(
        "cable", seed=7, flow=[{"size": "9 B", "count": 2}]
    )
    swept = ff.sweep({"path.rate": [1e6, 2e6]}, base=expected)
    assert swept == ff.sweep({"path.rate": ["1000000 bit/s", "2000000 bit/s"]}, base=expected)
    assert [row["path_rate_bit_s"] for row in swept.results.to_dicts()] == [1e6, 2e6]


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


def test_a_long_result_shows_its_first_rows_without_its_whole_object(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ff.run(TWO_FLOWS, replications=150)
    # Neither the JSON object nor every row may become objects of Python: those of 10^5 runs take gigabytes.
    monkeypatch.setattr(ff.RunResult, "to_json", lambda self: pytest.fail("the whole object was made"))
    shown = run._repr_html_()
    assert shown.count("<tr>") == 1 + 200 and "100 more rows" in shown
    assert repr(run) == "<RunResult 'Two flows': 150 runs, 2 flows>"
    swept = ff.sweep({"path.loss": [number / 1000 for number in range(54)]}, base="dsl", sizes="1KB")
    assert swept._repr_html_().count("<tr>") == 1 + 54 and "more rows" not in swept._repr_html_()


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
