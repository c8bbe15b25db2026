"""Results of calls: tables as Arrow, the JSON object of the command, and their display in notebooks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from html import escape
from typing import Any

from . import _html
from ._error import Error
from ._firstflight import Outcome, Scenario, Table
from ._plot import ComparisonPlot, RunPlot, SweepPlot


class _Result:
    """A result with a JSON object.

    Results are equal if their JSON and tables are, but for ``cpu_s`` and ``wall_s``; recorded packets are not compared. A result that is
    pickled goes to other processes with all of its data.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Result) and self._outcome == other._outcome

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._outcome,)

    def to_json(self) -> str:
        """The object that the command prints with ``--json``, as text in one line."""
        return self._outcome.json()

    def to_dict(self) -> dict[str, Any]:
        """The object that the command prints with ``--json``. Units are in the names of its fields: docs/results.md."""
        return json.loads(self.to_json())

    @cached_property
    def _dict(self) -> dict[str, Any]:
        return self.to_dict()


class RunResult(_Result):
    """Result of ``run``: one run of a scenario, or several under consecutive seeds."""

    @cached_property
    def results(self) -> Table:
        """Table ``flow``, as ``flows``: a row for each flow of each run."""
        return self.flows

    @cached_property
    def runs(self) -> Table:
        """Table ``run``: a row for each run."""
        return self._outcome.table("run")

    @cached_property
    def flows(self) -> Table:
        """Table ``flow``: a row for each flow of each run, with completion time, goodput, losses and the end of start-up."""
        return self._outcome.table("flow")

    @cached_property
    def links(self) -> Table:
        """Table ``link``: a row for each link of each run, with its use, drops, marks and queue."""
        return self._outcome.table("link")

    @cached_property
    def samples(self) -> Table:
        """Table ``sample``: window, threshold, flight and queue of the flows of the first run over time.

        It has no rows unless the run was made with ``trace=True``.
        """
        return self._outcome.table("sample")

    @cached_property
    def plot(self) -> RunPlot:
        """Plots: ``windows()`` (needs ``trace=True``) and ``completion()``."""
        return RunPlot(self.flows, self.samples)

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes run.json, the tables as Parquet files and, with ``trace=True``, pcapng and qlog files; returns their paths.

        Either all files are written, or none. Raises OSError if a file cannot be written.
        """
        return [str(path) for path in self._outcome.write(folder)]

    def __repr__(self) -> str:
        title, runs, flows = self._summary
        return f"<RunResult {title!r}: {runs} runs, {flows} flows>"

    @cached_property
    def _summary(self) -> tuple[str, int, int]:
        """Title, number of runs, number of flows of the first run; without the JSON object, which is large for many runs."""
        summary = self._outcome.summary()
        assert summary is not None, "the result of a run has a summary"
        return summary

    def _repr_html_(self) -> str:
        def delivered(row: dict[str, Any]) -> str:
            points = [(0.0, 0.0), *zip(row["delivered_at_s"], row["delivered_at_packets"])]
            # A flow shorter than the grid of these times has none of them.
            end = row["completion_s"]
            if end is not None and end > points[-1][0]:
                points.append((end, row["delivered_packets"]))
            return _html.sparkline(points)

        columns = [
            ("run", _html.text("run")),
            ("flow", _html.text("name")),
            ("start-up", _html.text("startup")),
            ("avoidance", _html.text("avoidance")),
            ("size", lambda row: _html.amount(row["size_bytes"])),
            ("completion", lambda row: _html.seconds(row["completion_s"])),
            ("Mbit/s", lambda row: f"{row['goodput_bit_s'] / 1e6:.2f}"),
            ("lost", _html.text("lost_packets")),
            ("delivered packets over time", delivered),
        ]
        title = self._summary[0] or "Run"
        return _html.table(title, self.flows, columns)


class Comparison(_Result):
    """Result of ``compare``: schemes ranked by completion time, size by size."""

    @cached_property
    def results(self) -> Table:
        """Table ``result``: a row for each scheme at each size, by size and rank."""
        return self._outcome.table("result")

    @cached_property
    def replications(self) -> Table:
        """Table ``replication``: a row for each simulated transfer; replications of one number met the same randomness."""
        return self._outcome.table("replication")

    @cached_property
    def windows(self) -> Table:
        """Table ``window``: window, flight and queue over time of the replication nearest the median of each scheme and size."""
        return self._outcome.table("window")

    @cached_property
    def connections(self) -> Table:
        """Table ``connection``: the captured connections and their re-runs; no rows without a capture."""
        return self._outcome.table("connection")

    @cached_property
    def estimates(self) -> Table:
        """Table ``estimate``: each inferred value of the path with its range and evidence; no rows without a capture."""
        return self._outcome.table("estimate")

    @cached_property
    def networks(self) -> Table | None:
        """Table ``network``: a row for each scheme at each size in each network of clients; None unless a capture holds several."""
        return self._outcome.table("network") if self._dict.get("groups") else None

    @property
    def path(self) -> dict[str, Any]:
        """The path on which the schemes were compared, as in the JSON object."""
        return self._dict["path"]

    @property
    def answer(self) -> dict[str, Any] | None:
        """The one setting that the server should have, as in the JSON object (``docs/results.md``): ``verdict``, ``sentence``, ``commands``
        and so on."""
        return self._dict["answer"]

    @property
    def recommended(self) -> list[dict[str, Any]]:
        """The recommendation at each size, as in the JSON object (``docs/results.md``).

        ``scheme`` is None where nothing is recommended, and ``why`` has the reason. ``as_fast`` lists the other candidates within the
        limits that are as fast, and ``chosen_by`` the criteria that chose before them.
        ``undecided`` lists candidates that may be as fast or faster, but whose harm may exceed ``max_harm``.
        """
        return self._dict["recommended"]

    @property
    def for_all_sizes(self) -> dict[str, Any] | None:
        """The one candidate for all sizes, as in the JSON object; None for a single size and without an answer."""
        return self._dict["for_all_sizes"]

    @property
    def warnings(self) -> list[str]:
        """Facts that limit the trust in the numbers, most important first."""
        return self._dict["warnings"]

    @cached_property
    def plot(self) -> ComparisonPlot:
        """Plots: ``windows()``, ``completion()`` (distribution functions) and ``pareto()`` (time against dropped packets)."""
        return ComparisonPlot(self.results, self.replications, self.windows)

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes report.html, results.parquet and, with ``trace=True``, pcapng and qlog files; returns their paths.

        Either all files are written, or none. Raises OSError if a file cannot be written.
        """
        return [str(path) for path in self._outcome.write(folder)]

    def to_html(self) -> str:
        """The page report.html of the command: one file that needs no network."""
        return self._outcome.page()

    def __repr__(self) -> str:
        schemes = len(self._dict["schemes"])
        return f"<Comparison {self._dict['title']!r}: {schemes} schemes, {len(self.results)} results>"

    def _repr_html_(self) -> str:
        rows = self.results.to_dicts()
        longest: dict[int, float] = {}
        for row in rows:
            longest[row["size_bytes"]] = max(longest.get(row["size_bytes"], 0.0), row["completion_s_q95"] or 0.0)

        def times(row: dict[str, Any]) -> str:
            if row["completion_s_median"] is None:
                return "-"
            ends = row["completion_s_q5"], row["completion_s_median"], row["completion_s_q95"]
            return _html.interval(*ends, longest[row["size_bytes"]])

        def scheme(row: dict[str, Any]) -> str:
            name = escape(row["scheme"])
            return f"<b>{name}</b>" if row["recommended"] else name

        columns = [
            ("size", lambda row: _html.amount(row["size_bytes"])),
            ("rank", _html.text("rank")),
            ("scheme", scheme),
            ("median", lambda row: _html.seconds(row["completion_s_median"])),
            ("95th percentile", lambda row: _html.seconds(row["completion_s_p95"])),
            ("5 to 95 % of the transfers", times),
            ("dropped", _html.number("drops_mean")),
        ]
        return _html.table(self._dict["title"], rows, columns, [f"Warning: {it}" for it in self.warnings])


class IdentifiedSender(Mapping[str, Any]):
    """A sender that ``identify`` found in a capture.

    It is a mapping from the names of the JSON object (``docs/results.md``) to their values: ``sender["first_flight_packets"]``.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    @property
    def sender(self) -> str:
        """Address and port."""
        return self._values["sender"]

    @property
    def starts_as(self) -> str | None:
        """The stack, as a phrase; None if it is none of those that have a profile, or if the start is not known."""
        return self._values["starts_as"]

    @property
    def probability(self) -> float | None:
        """Probability of ``starts_as``; None without it."""
        return self._values["probability"]

    @property
    def unknown(self) -> float | None:
        """Probability that the sender is of no stack that has a profile; None if the start is not known."""
        return self._values["unknown"]

    @property
    def stacks(self) -> list[dict[str, Any]]:
        """The stacks with ``profile``, ``scheme`` and ``probability``, the likeliest first; at least the three nearest."""
        return self._values["stacks"]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return dict(self._values)

    def __getitem__(self, field: str) -> Any:
        """A value by its name. Raises KeyError."""
        return self._values[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self.unknown is None:
            return f"<IdentifiedSender {self.sender}: start not known>"
        stack = "no stack that has a profile" if self.starts_as is None else self.starts_as
        probability = self.unknown if self.probability is None else self.probability
        return f"<IdentifiedSender {self.sender}: {stack}, probability {probability:.2f}>"


class InferredPath(_Result, Mapping[str, Any]):
    """Result of ``infer``: the path that captured connections crossed.

    It is a mapping from the names of the JSON object to their values: ``path["rate_bit_s"]``, ``dict(path)``.
    """

    @cached_property
    def results(self) -> Table:
        """Table ``estimate``, as ``estimates``."""
        return self.estimates

    @cached_property
    def estimates(self) -> Table:
        """Table ``estimate``: each value of the path with its range and evidence, or the reason why it is unknown."""
        return self._outcome.table("estimate")

    @property
    def cannot_tell(self) -> list[str]:
        """Names of the values that the capture does not determine; they are None."""
        return self._dict["cannot_tell"]

    def __getitem__(self, field: str) -> Any:
        """A value by its name: ``path["rate_bit_s"]``; None if the capture does not determine it. Raises KeyError."""
        return self._dict[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def to_scenario(self, **keys: Any) -> Scenario:
        """A scenario on this path: rate, round trip, buffer and loss as inferred, with ``keys`` of the format beside or in place of them.

        Raises Error with the name of a value that the capture does not determine and ``keys`` do not have.
        """
        own = keys.pop("path", {})
        values = {
            "rate": self["rate_bit_s"],
            "rtt": None if self["rtt_ms"] is None else self["rtt_ms"] / 1e3,
            "buffer": None if self["buffer_packets"] is None else f"{self['buffer_packets']} packets",
            "loss": self["loss"],
        }
        path = {**values, **own}
        for key, value in path.items():
            if value is None:
                raise Error(f"path.{key}: the capture does not determine it; expected a value, such as to_scenario(path={{{key!r}: …}})")
        return Scenario(path=path, **keys)

    def __repr__(self) -> str:
        known = {key: self._dict[key] for key in ("rate_bit_s", "rtt_ms", "buffer_packets", "loss")}
        return f"<InferredPath of {self._dict['inferred_from']}: {known}>"

    def _repr_html_(self) -> str:
        def plotted(row: dict[str, Any]) -> str:
            ends = row["low"], row["value"], row["high"]
            return "" if None in ends else _html.interval(*ends, row["high"])

        def value(row: dict[str, Any]) -> str:
            known = row["word"] if row["value"] is None else f"{row['value']:,.6g}"
            return "unknown" if known is None else escape(known)

        columns = [
            ("value of the path", _html.text("field")),
            ("estimate", value),
            ("range", plotted),
            ("evidence", _html.text("how")),
        ]
        return _html.table(f"Path of {self._dict['inferred_from']}", self.estimates.to_dicts(), columns)


class SweepResult(_Result):
    """Result of ``sweep``: a row for each run."""

    def to_json(self) -> str:
        """An object as text in one line: ``factors``, the keys that are varied; ``rows``, the rows of ``results``."""
        return super().to_json()

    def to_dict(self) -> dict[str, Any]:
        """The object of ``to_json()``."""
        return super().to_dict()

    @cached_property
    def _factors(self) -> list[str]:
        return self._outcome.factors()

    @cached_property
    def results(self) -> Table:
        """Table ``sweep``: a row for each run. The values of the factors follow the column ``cell``, one column for each key.

        The column of ``path.rate`` is ``path_rate_bit_s``: characters of the key other than letters and digits become ``_``, and
        the unit follows. A factor whose values are not all numbers of one unit has its texts.
        """
        return self._outcome.table("sweep")

    @cached_property
    def plot(self) -> SweepPlot:
        """Plots: ``completion(by=…)`` (distribution functions)."""
        return SweepPlot(self.results, self._factors)

    def __repr__(self) -> str:
        return f"<SweepResult over {', '.join(self._factors)}: {len(self.results)} runs>"

    def _repr_html_(self) -> str:
        table = self.results
        factors = table.column_names[1 : 1 + len(self._factors)]
        groups: dict[tuple[Any, ...], list[float | None]] = {}
        for *key, time in zip(*(table[name] for name in [*factors, "scheme", "size_bytes", "completion_s"])):
            groups.setdefault(tuple(key), []).append(time)
        rows: list[dict[str, Any]] = []
        for key, group in groups.items():
            times = sorted(time for time in group if time is not None)
            rows.append({"key": key, "runs": len(group), "times": times})
        longest = max((row["times"][-1] for row in rows if row["times"]), default=0.0)

        def at(index: int):
            return lambda row: escape(str(row["key"][index]))

        def plotted(row: dict[str, Any]) -> str:
            times = row["times"]
            return _html.interval(times[0], times[len(times) // 2], times[-1], longest) if times else ""

        columns = [
            *((name, at(index)) for index, name in enumerate(factors)),
            ("scheme", at(len(factors))),
            ("size", lambda row: _html.amount(row["key"][-1])),
            ("runs", _html.text("runs")),
            ("median", lambda row: _html.seconds(row["times"][len(row["times"]) // 2] if row["times"] else None)),
            ("completion times", plotted),
        ]
        return _html.table(f"Sweep over {', '.join(self._factors)}", rows, columns)
