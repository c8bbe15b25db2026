"""The notebooks run, the examples of the documentation run, and the types hold."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
import pytest
from nbclient import NotebookClient

import firstflight as ff

matplotlib.use("Agg")

REPOSITORY = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((REPOSITORY / "docs/notebooks").glob("*.ipynb"))
PACKAGE = Path(ff.__file__).parent


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs(path: Path) -> None:
    notebook: Any = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs"), "notebooks are kept without outputs"
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    # A bar of progress would be a stream on standard error.
    assert not [output for output in outputs if output.get("name") == "stderr"], outputs


class Watched(NotebookClient):
    """Keeps the HTML that a notebook shows, also what it replaces later."""

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.shown = [*getattr(self, "shown", []), msg["content"]["data"].get("text/html")]
        return super().process_message(msg, cell, cell_index)


def test_a_notebook_shows_progress_with_the_time_left_and_removes_it() -> None:
    source = """
import firstflight as ff, firstflight._progress as progress
progress._QUIET_S = 0.0
ff.run(ff.Scenario("lte", flow=[{"size": "3 MB"}]), replications=2000);
"""
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    client: Any = Watched(notebook, timeout=300, kernel_name="python3")
    client.execute()
    *bars, last = client.shown
    assert last == ""
    assert bars and all("<progress max=" in bar for bar in bars if "2000" in bar), bars
    assert re.search(r" of 2000 \(\d+%\), \d+ s left$", bars[-1]), bars


def test_there_are_four_notebooks() -> None:
    assert len(NOTEBOOKS) == 4


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (REPOSITORY / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) >= 5
    # The page's own paths.
    (tmp_path / "upload.pcap").symlink_to(REPOSITORY / "crates/capture/testdata/p1-reno-1000KB.pcap")
    (tmp_path / "experiment.toml").write_text((REPOSITORY / "examples/compare/scenario.toml").read_text())
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), space)


def pyright(folder: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert run.stdout.startswith("{"), run.stderr or run.stdout
    return json.loads(run.stdout)


def test_the_package_and_its_tests_have_the_right_types(tmp_path: Path) -> None:
    # pyright reads a folder of its own, which has sources alone.
    for folder, name in [(PACKAGE, "firstflight"), (Path(__file__).parent, "tests")]:
        shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    settings = {
        "include": ["firstflight", "tests"],
        "typeCheckingMode": "standard",
        # Libraries of tests and of plots have no complete types.
        "reportMissingTypeStubs": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    report = pyright(tmp_path, "--project", str(tmp_path))
    errors = [
        f"{Path(it['file']).name}:{it['range']['start']['line'] + 1}: {it['message']}"
        for it in report["generalDiagnostics"]
        if it["severity"] == "error"
    ]
    assert not errors, "\n".join(errors)
    assert report["summary"]["filesAnalyzed"] >= 10


def test_a_wrong_call_is_an_error_of_types(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text('import firstflight as ff\nff.compare("cable", sizes=3)\nff.run("x").flows.no_such\n')
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(PACKAGE.parent)]}))
    report = pyright(tmp_path, "wrong.py")
    assert [it["rule"] for it in report["generalDiagnostics"] if it["severity"] == "error"] == [
        "reportArgumentType",
        "reportAttributeAccessIssue",
    ]


def comparison() -> ff.Comparison:
    schemes = ["slow-start+cubic", "jump-start+cubic"]
    return ff.compare("lte", loss="0.5%", schemes=schemes, sizes=["30KB", "300KB"], replications=8, harm=False)


def test_the_distribution_function_is_that_of_the_replications() -> None:
    compared = comparison()
    ax = compared.plot.completion("30 KB")
    rows = [row for row in compared.replications.to_dicts() if row["size_bytes"] == 30_000]
    lines: list[Any] = list(ax.get_lines())
    assert [line.get_label() for line in lines] == list(dict.fromkeys(row["scheme"] for row in rows))
    for line in lines:
        times = sorted(row["completion_s"] for row in rows if row["scheme"] == line.get_label())
        assert list(line.get_xdata()) == [times[0], *times]
        assert list(line.get_ydata()) == [step / 8 for step in range(9)]


def test_the_windows_are_those_of_the_table() -> None:
    compared = comparison()
    ax = compared.plot.windows()
    rows = [row for row in compared.windows.to_dicts() if row["size_bytes"] == 300_000]
    for line in ax.get_lines():
        data: Any = line.get_xydata()
        own = [[row["time_s"], row["cwnd_packets"]] for row in rows if row["scheme"] == line.get_label()]
        assert data.tolist() == own and own


def test_the_front_has_the_points_that_none_is_better_than() -> None:
    from firstflight._plot import pareto_front

    points = [(1.0, 9.0), (2.0, 4.0), (2.0, 5.0), (3.0, 4.0), (4.0, 1.0), (5.0, 2.0)]
    assert pareto_front(points) == [(1.0, 9.0), (2.0, 4.0), (4.0, 1.0)]
    assert comparison().plot.pareto("300KB").get_ylabel() == "dropped packets (mean)"


def test_plots_of_what_is_not_there_are_refused() -> None:
    with pytest.raises(ff.Error, match='the result has no such size; expected one of: 30 KB, 300 KB'):
        comparison().plot.windows("3 MB")
    run = ff.run(ff.Scenario("dsl", flow=[{"size": "30 KB"}]))
    with pytest.raises(ff.Error, match="trace=True"):
        run.plot.windows()
    assert run.plot.completion().get_xlabel() == "completion time (s)"
