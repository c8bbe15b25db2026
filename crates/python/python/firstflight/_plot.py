"""Plots of results with matplotlib, which is optional: ``pip install firstflight[plot]``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._error import Error
from ._firstflight import Table
from ._html import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install firstflight[plot]") from error
    return plt.subplots(layout="constrained")[1]


def _grouped(rows: Iterable[dict[str, Any]], key: str) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(str(row[key]), []).append(row)
    return groups


def _of_size(table: Table, size: str | int | None) -> tuple[list[dict[str, Any]], int | None]:
    """Rows of one transfer size: of ``size``, or of the largest."""
    rows: list[dict[str, Any]] = table.to_dicts()
    sizes = sorted({row["size_bytes"] for row in rows if row["size_bytes"] is not None})
    if not sizes:
        return rows, None
    names = {amount(one).replace(" ", ""): one for one in sizes} | {str(one): one for one in sizes}
    wanted = sizes[-1] if size is None else names.get(str(size).replace(" ", ""))
    if wanted is None:
        known = ", ".join(amount(one) for one in sizes)
        raise Error(f"size = {size!r}: the result has no such size; expected one of: {known}")
    return [row for row in rows if row["size_bytes"] == wanted], wanted


def _labelled(ax: Axes, x: str, y: str, title: str) -> Axes:
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title)
    ax.grid(alpha=0.3)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax


def _steps(ax: Axes, times: list[float], missing: int, label: str) -> None:
    """The empirical distribution function; transfers that did not end keep it below 1."""
    times = sorted(times)
    count = len(times) + missing
    if times:
        shares = [(at + 1) / count for at in range(len(times))]
        ax.step([times[0], *times], [0.0, *shares], where="post", label=label)


def _completion(ax: Axes, rows: list[dict[str, Any]], key: str) -> None:
    for name, group in _grouped(rows, key).items():
        times = [row["completion_s"] for row in group if row["completion_s"] is not None]
        _steps(ax, times, len(group) - len(times), name)


class RunPlot:
    """Plots of a run; each returns the matplotlib axes, and draws into ``ax`` if it is given."""

    def __init__(self, flows: Table, samples: Table) -> None:
        self._flows, self._samples = flows, samples

    def windows(self, *, ax: Axes | None = None) -> Axes:
        """Congestion window of every flow of the first run (packets) over the time since its start (s).

        Raises Error if the run was made without ``trace=True``.
        """
        if not len(self._samples):
            raise Error("the run has no time series; expected run(…, trace=True)")
        ax = _axes(ax)
        for name, rows in _grouped(self._samples.to_dicts(), "flow").items():
            known = [row for row in rows if row["cwnd_packets"] is not None]
            ax.plot([row["time_s"] for row in known], [row["cwnd_packets"] for row in known], label=name)
        return _labelled(ax, "time since the flow's start (s)", "congestion window (packets)", "Congestion windows")

    def completion(self, *, ax: Axes | None = None) -> Axes:
        """Distribution function of the completion times (s) of all flows of all runs, a curve for each chain of schemes."""
        ax = _axes(ax)
        finite = [row for row in self._flows.to_dicts() if row["size_bytes"] is not None]
        rows = [{**row, "scheme": _chain(row)} for row in finite]
        _completion(ax, rows, "scheme")
        return _labelled(ax, "completion time (s)", "share of the flows", "Completion times")


def _chain(row: dict[str, Any]) -> str:
    return row["startup"] if row["startup"] == row["avoidance"] else f"{row['startup']}+{row['avoidance']}"


class ComparisonPlot:
    """Plots of a comparison at one size, the largest unless ``size`` is given, such as ``"300 KB"``.

    Each returns the matplotlib axes, and draws into ``ax`` if it is given.
    """

    def __init__(self, results: Table, replications: Table, windows: Table) -> None:
        self._results, self._replications, self._windows = results, replications, windows

    def windows(self, size: str | int | None = None, *, ax: Axes | None = None) -> Axes:
        """Congestion window (packets) over time (s) of the replication nearest the median, a curve for each scheme."""
        rows, of = _of_size(self._windows, size)
        ax = _axes(ax)
        for name, group in _grouped(rows, "scheme").items():
            known = [row for row in group if row["cwnd_packets"] is not None]
            ax.plot([row["time_s"] for row in known], [row["cwnd_packets"] for row in known], label=name)
        title = f"Congestion windows, {amount(of)}"
        return _labelled(ax, "time since the flow's start (s)", "congestion window (packets)", title)

    def completion(self, size: str | int | None = None, *, ax: Axes | None = None) -> Axes:
        """Distribution function of the completion times (s) over the replications, a curve for each scheme."""
        rows, of = _of_size(self._replications, size)
        ax = _axes(ax)
        _completion(ax, rows, "scheme")
        return _labelled(ax, "completion time (s)", "share of the transfers", f"Completion times, {amount(of)}")

    def pareto(self, size: str | int | None = None, *, ax: Axes | None = None) -> Axes:
        """Median completion time (s) against dropped packets (mean), a point for each scheme.

        A line joins the schemes of which no other is both sooner and drops less.
        """
        rows, of = _of_size(self._results, size)
        known = [row for row in rows if row["completion_s_median"] is not None]
        ax = _axes(ax)
        for row in known:
            ax.plot(row["completion_s_median"], row["drops_mean"], "o", label=row["scheme"])
        front = pareto_front([(row["completion_s_median"], row["drops_mean"]) for row in known])
        ax.plot([x for x, _ in front], [y for _, y in front], "k--", linewidth=1, zorder=0)
        title = f"Time and dropped packets, {amount(of)}"
        return _labelled(ax, "median completion time (s)", "dropped packets (mean)", title)


def pareto_front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points of which no other is as small in both numbers and smaller in one, by the first number."""
    front: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front


class SweepPlot:
    """Plots of a sweep; each returns the matplotlib axes, and draws into ``ax`` if it is given."""

    def __init__(self, results: Table) -> None:
        self._results = results

    def completion(self, *, ax: Axes | None = None) -> Axes:
        """Distribution function of the completion times (s) of all runs, a curve for each scheme."""
        ax = _axes(ax)
        _completion(ax, self._results.to_dicts(), "scheme")
        return _labelled(ax, "completion time (s)", "share of the runs", "Completion times")
