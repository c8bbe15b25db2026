"""Calls work in forked processes, and results go from one process to another."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import firstflight as ff
from programs import OWN_SCHEME

REPOSITORY = Path(__file__).resolve().parents[3]
CAPTURE = REPOSITORY / "crates/capture/testdata/p1-reno-1000KB.pcap"

# A process uses the library, forks, and uses it again in the fork; the parent then works on. An alarm ends either after a minute.
FORKS = OWN_SCHEME + """
import multiprocessing, signal
from concurrent.futures import ProcessPoolExecutor

def work(what):
    signal.alarm(60)
    if what == "run":
        return ff.run(ff.Scenario("lte", flow=[{"size": "300 KB"}]), replications=8)
    if what == "scheme":
        return ff.run(ff.Scenario("lte", flow=[{"size": "300 KB"}]), schemes=Own)
    if what == "compare":
        return ff.compare("lte", schemes=["slow-start+cubic"], sizes="30KB", replications=4)
    return ff.sweep({"path.loss": [0.0, 0.01]}, base="lte", replications=4)

if __name__ == "__main__":
    kinds = ["run", "scheme", "compare", "sweep"]
    before = [work(what) for what in kinds]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        forked = list(pool.map(work, kinds))
    assert forked == before and [work(what) for what in kinds] == before
    print("equal")
"""


def test_a_fork_of_a_process_that_used_the_library_works(tmp_path: Path) -> None:
    program = tmp_path / "forks.py"
    program.write_text(FORKS)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("equal\n", 0), done.stderr


def scenario() -> ff.Scenario:
    return ff.Scenario("lte", path={"loss": "1%"}, flow=[{"name": "bulk", "size": "100 KB"}])


def results() -> list[Any]:
    swept = ff.sweep({"path.rate": ["1 Mbit/s", "2 Mbit/s"], "flow.bulk.startup": ["slow-start", "hystart++"]}, base=scenario())
    compared = ff.compare("lte", schemes=["slow-start+cubic", "bbr"], sizes="30KB", replications=3, trace=True)
    captured = ff.compare(CAPTURE, schemes=["slow-start+cubic"], sizes="100KB", replications=2)
    run = ff.run(scenario(), replications=2, trace=True)
    return [run, compared, captured, swept, ff.infer(CAPTURE)]


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


TABLES = ["results", "flows", "links", "runs", "samples", "replications", "windows", "connections", "estimates"]


def test_every_result_is_pickled_with_its_tables_and_files(tmp_path: Path) -> None:
    for number, result in enumerate(results()):
        copy = again(result)
        assert copy == result and type(copy) is type(result)
        assert copy.to_json() == result.to_json() and repr(copy) == repr(result)
        tables = [name for name in TABLES if hasattr(result, name)]
        assert tables
        for name in tables:
            table = getattr(result, name)
            assert getattr(copy, name) == table == again(table), name
            assert again(table).to_dicts() == table.to_dicts()
            assert repr(again(table).columns) == repr(table.columns)
        if hasattr(result, "write"):
            folders = [tmp_path / f"{number}-{name}" for name in ("own", "copy")]
            for folder, one in zip(folders, [result, copy]):
                one.write(folder)
            own, other = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
            assert own == other and own


def test_results_of_other_inputs_are_not_equal() -> None:
    run = ff.run(scenario())
    assert run == ff.run(scenario())
    assert run != ff.run(scenario(), seed=9)
    assert run != ff.run(scenario(), replications=2)
    assert run.flows != run.links
    assert run.flows != ff.run(scenario(), seed=9).flows


def test_a_scenario_with_a_trace_is_pickled_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One packet of 1500 bytes in each millisecond: 12 Mbit/s.
    (tmp_path / "link.trace").write_text("1\n2\n3\n")
    (tmp_path / "own.toml").write_text('[path]\ntrace = "link.trace"\nrtt = "50 ms"\nbuffer = "9 packets"\n[[flow]]\nsize = "9 KB"\n')
    monkeypatch.chdir(tmp_path)
    read = ff.Scenario("own.toml")
    monkeypatch.chdir("/")
    sent = pickle.dumps(read)
    assert pickle.loads(sent) == read
    assert ff.run(pickle.loads(sent)) == ff.run(read)
    (tmp_path / "link.trace").unlink()
    with pytest.raises(ff.Error, match="link.trace"):
        pickle.loads(sent)
