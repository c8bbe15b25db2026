"""Firstflight: how a TCP or QUIC connection should start.

>>> import firstflight as ff
>>> r = ff.compare("cable", schemes=["slow-start+cubic", "hystart+++cubic"], sizes=["300KB"])
>>> r.results  # a table: pyarrow.table(r.results), polars.DataFrame(r.results), pandas.DataFrame.from_arrow(r.results)

- ``compare`` ranks start-up schemes on a path, a preset, a scenario or a capture of real connections.
- ``run`` runs a scenario; ``sweep`` runs it at every combination of some values; ``infer`` estimates the path of a capture, and
  ``identify`` names the stacks of its senders.
- ``Scenario`` and ``preset`` describe experiments; ``algorithms`` lists the schemes; ``Scheme`` describes schemes of your own.
"""

from ._api import algorithms, compare, identify, infer, preset, profiles, run, sweep
from ._dataset import Dataset
from ._error import Error
from ._firstflight import (
    Ack,
    Column,
    Congestion,
    Control,
    Entry,
    Lost,
    Plan,
    Scenario,
    Sent,
    Table,
    presets,
    signals,
    slow_start,
)
from ._results import Comparison, IdentifiedSender, InferredPath, RunResult, SweepResult
from ._scheme import Scheme

__all__ = [
    "Ack",
    "Column",
    "Comparison",
    "Congestion",
    "Control",
    "Dataset",
    "Entry",
    "Error",
    "IdentifiedSender",
    "InferredPath",
    "Lost",
    "Plan",
    "RunResult",
    "Scenario",
    "Scheme",
    "Sent",
    "SweepResult",
    "Table",
    "algorithms",
    "compare",
    "identify",
    "infer",
    "preset",
    "presets",
    "profiles",
    "run",
    "signals",
    "slow_start",
    "sweep",
]
