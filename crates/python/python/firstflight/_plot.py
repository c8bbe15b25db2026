"""Plots of results with matplotlib, which is optional: ``pip install firstflight[plot]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    labels = ax.get_legend_handles_labels()[1]
    if labels:
        # Beside the axes, so that no point is beneath it; in columns of 18 lines.
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small", ncols=-(-len(labels) // 18))
    return ax


_DASHES: list[Any] = ["-", "--", ":", "-."]
_MARKERS = "osD^v"


def _style(number: int) -> dict[str, Any]:
    """Colour and dashes of a curve: forty differ before two are the same."""
    return {"color": f"C{number % 10}", "linestyle": _DASHES[number // 10 % 4]}


def _marked(ax: Axes, line: Sequence[float], values: Sequence[float], number: int, label: str) -> None:
    """A curve; a single point is a marker, since a line through it would show nothing."""
    ax.plot(line, values, label=label, marker="o" if len(line) == 1 else None, **_style(number))


def _steps(ax: Axes, times: list[float], missing: int, number: int, label: str) -> None:
    """The empirical distribution function; transfers that did not end keep it below 1."""
    times = sorted(times)
    count = len(times) + missing
    if times:
        shares = [(at + 1) / count for at in range(len(times))]
        ax.step([times[0], *times], [0.0, *shares], where="post", label=label, **_style(number))


def _completion(ax: Axes, names: Sequence[str], times: Sequence[float | None]) -> None:
    """A distribution function for each name, of the times beside it."""
    groups: dict[str, list[float | None]] = {}
    for name, time in zip(names, times):
        groups.setdefault(name, []).append(time)
    for number, (name, group) in enumerate(groups.items()):
        ended = [time for time in group if time is not None]
        _steps(ax, ended, len(group) - len(ended), number, name)


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
        for number, (name, rows) in enumerate(_grouped(self._samples.to_dicts(), "flow").items()):
            known = [row for row in rows if row["cwnd_packets"] is not None]
            _marked(ax, [row["time_s"] for row in known], [row["cwnd_packets"] for row in known], number, name)
        return _labelled(ax, "time since the flow's start (s)", "congestion window (packets)", "Congestion windows")

    def completion(self, *, ax: Axes | None = None) -> Axes:
        """Distribution function of the completion times (s) of all flows of all runs, a curve for each chain of schemes."""
        ax = _axes(ax)
        names = ["startup", "avoidance", "size_bytes", "completion_s"]
        flows = zip(*(self._flows[name] for name in names))
        finite = [(_chain(startup, avoidance), time) for startup, avoidance, size, time in flows if size is not None]
        _completion(ax, [name for name, _ in finite], [time for _, time in finite])
        return _labelled(ax, "completion time (s)", "share of the flows", "Completion times")


def _chain(startup: str, avoidance: str) -> str:
    return startup if startup == avoidance else f"{startup}+{avoidance}"


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
        for number, (name, group) in enumerate(_grouped(rows, "scheme").items()):
            known = [row for row in group if row["cwnd_packets"] is not None]
            _marked(ax, [row["time_s"] for row in known], [row["cwnd_packets"] for row in known], number, name)
        title = f"Congestion windows, {amount(of)}"
        return _labelled(ax, "time since the flow's start (s)", "congestion window (packets)", title)

    def completion(self, size: str | int | None = None, *, ax: Axes | None = None) -> Axes:
        """Distribution function of the completion times (s) over the replications, a curve for each scheme."""
        rows, of = _of_size(self._replications, size)
        ax = _axes(ax)
        _completion(ax, [row["scheme"] for row in rows], [row["completion_s"] for row in rows])
        return _labelled(ax, "completion time (s)", "share of the transfers", f"Completion times, {amount(of)}")

    def pareto(self, size: str | int | None = None, *, ax: Axes | None = None) -> Axes:
        """Median completion time (s) against dropped packets (mean), a point for each scheme.

        A line joins the schemes of which no other is both sooner and drops less.
        """
        rows, of = _of_size(self._results, size)
        known = [row for row in rows if row["completion_s_median"] is not None]
        ax = _axes(ax)
        for number, row in enumerate(known):
            marker = _MARKERS[number // 10 % len(_MARKERS)]
            point = [row["completion_s_median"]], [row["drops_mean"]]
            ax.plot(*point, color=f"C{number % 10}", marker=marker, linestyle="none", label=row["scheme"])
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

    def __init__(self, results: Table, factors: Sequence[str]) -> None:
        self._results, self._factors = results, factors

    def completion(self, *, by: str | Sequence[str] = "scheme", ax: Axes | None = None) -> Axes:
        """Distribution function of the completion times (s), a curve for each value of ``by``.

        ``by`` is a key of a factor (``"path.rate"``), a column of ``results`` (``"scheme"``, ``"size_bytes"``), or several of them.

        Raises Error, with the nearest name, if there is no such column.
        """
        columns = self._results.column_names
        keys = [by] if isinstance(by, str) else list(by)
        # The columns of the factors follow the column of the cell, in the order of the factors.
        named = dict(zip(self._factors, columns[1:]))
        values = [self._results[named.get(key, key)] for key in keys]

        def shown(key: str, value: Any) -> str:
            return value if key == "scheme" else f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"

        names = [", ".join(map(shown, keys, row)) for row in zip(*values)]
        ax = _axes(ax)
        _completion(ax, names, self._results["completion_s"])
        return _labelled(ax, "completion time (s)", "share of the runs", "Completion times")
