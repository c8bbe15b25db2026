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
    (tmp_path / "wrong.py").write_text('import firstflight as ff\nff.compare("cable", sizes=object())\nff.run("x").flows.no_such\n')
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


def styles(ax: Any) -> list[tuple[Any, ...]]:
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    return [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines]


def test_eighteen_schemes_differ_and_the_legend_is_beside_the_plot() -> None:
    schemes = [f"slow-start+cubic@iw{segments}" for segments in range(2, 20)]
    compared = ff.compare("lte", loss="0.5%", schemes=schemes, sizes="300KB", replications=3, harm=False)
    for ax in [compared.plot.completion(), compared.plot.windows(), compared.plot.pareto()]:
        assert len(styles(ax)) == len(set(styles(ax))) == 18
        figure: Any = ax.figure
        figure.canvas.draw()
        legend = ax.get_legend()
        assert legend is not None
        assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
        assert figure.bbox.x1 >= legend.get_window_extent().x1


def test_a_flow_shorter_than_the_grid_shows_its_course() -> None:
    run = ff.run(ff.Scenario("cable", flow=[{"size": "30 KB"}]))
    row = run.flows.to_dicts()[0]
    assert row["delivered_at_s"] == [] and row["completion_s"] < 1.0
    points = re.findall(r'<polyline points="([^"]*)"', run._repr_html_())
    # From the lower left corner to the upper right one.
    assert points == ["0.0,17.0 180.0,1.0"]


def test_a_flow_of_a_single_sample_is_seen() -> None:
    import matplotlib.pyplot as plt

    from firstflight._plot import _marked

    ax = plt.subplots()[1]
    _marked(ax, [0.0], [10.0], 0, "short")
    _marked(ax, [0.0, 1.0], [10.0, 20.0], 1, "long")
    assert [line.get_marker() for line in ax.get_lines()] == ["o", "None"]


def test_a_sweep_has_a_curve_for_each_value() -> None:
    swept = ff.sweep({"path.rate": ["1 Mbit/s", "2 Mbit/s"], "path.loss": [0.0, 0.01]}, base="dsl", replications=4)
    rows = swept.results.to_dicts()
    lines: list[Any] = list(swept.plot.completion(by="path.rate").get_lines())
    assert [line.get_label() for line in lines] == ["path.rate = 1e+06", "path.rate = 2e+06"]
    for line, rate in zip(lines, [1e6, 2e6]):
        times = sorted(row["completion_s"] for row in rows if row["path_rate_bit_s"] == rate)
        assert list(line.get_xdata()) == [times[0], *times] and len(times) == 8
    assert len(swept.plot.completion(by=["path.rate", "path.loss"]).get_lines()) == 4
    assert len(swept.plot.completion().get_lines()) == 1
    with pytest.raises(ff.Error, match='did you mean "path_rate_bit_s"'):
        swept.plot.completion(by="path_rate_bits")
