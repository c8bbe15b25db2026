# Generated from the Rust source by `make regenerate`; do not edit.
import collections.abc
import os
import typing

"""
The compiled part of Firstflight.
"""

from _typeshed import SupportsGetItem
from typing import Any, SupportsFloat, SupportsIndex, final

__all__ = ["Ack", "Column", "Congestion", "Control", "Entry", "Lost", "Outcome", "Plan", "Rows", "Scenario", "Sent", "Table", "algorithms", "compare", "identify", "in_toml", "infer", "presets", "profiles", "quantity", "run", "signals", "slow_start", "sweep"]

@final
class Ack:
    """
    One processed ACK that delivered data. Times are nanoseconds, amounts are bytes of payload, rates are bit/s; 0 is unknown.
    """
    def __repr__(self, /) -> str: ...
    @property
    def acked(self, /) -> int:
        """
        Bytes newly delivered by this ACK, cumulatively or selectively.
        """
    @property
    def app_limited(self, /) -> bool:
        """
        Whether the application or the receive window limited the sender.
        """
    @property
    def ce(self, /) -> int:
        """
        Bytes newly reported as marked by ECN.
        """
    @property
    def delivered(self, /) -> int:
        """
        Total bytes delivered since the connection began, this ACK included.
        """
    @property
    def growth(self, /) -> int:
        """
        Bytes of `acked` that may enlarge the window under the stack's growth rule.
        """
    @property
    def in_flight(self, /) -> int:
        """
        Bytes in flight before this ACK.
        """
    @property
    def lost(self, /) -> int:
        """
        Total bytes declared lost since the connection began.
        """
    @property
    def maybe_delayed(self, /) -> bool:
        """
        Whether the ACK covers one segment only: the receiver may have delayed it.
        """
    @property
    def min_rtt(self, /) -> int:
        """
        Smallest round-trip time of the connection so far, nanoseconds.
        """
    @property
    def mss(self, /) -> int:
        """
        Payload bytes of a full segment; never 0.
        """
    @property
    def now(self, /) -> int:
        """
        Arrival time of the ACK, nanoseconds.
        """
    @property
    def pipe(self, /) -> int:
        """
        Bytes in flight after this ACK (RFC 6675's pipe).
        """
    @property
    def prior_delivered(self, /) -> int:
        """
        Value of `delivered` when the newest delivered segment was sent. Needs the signal delivery-rate.
        """
    @property
    def prior_in_flight(self, /) -> int:
        """
        Bytes in flight just after that segment was sent, itself included. Needs the signal per-packet-loss.
        """
    @property
    def prior_lost(self, /) -> int:
        """
        Value of `lost` when that segment was sent. Needs the signal per-packet-loss.
        """
    @property
    def rate(self, /) -> int:
        """
        Delivery-rate sample, bit/s; 0 if this ACK gives none. Needs the signal delivery-rate.
        """
    @property
    def rate_limited(self, /) -> bool:
        """
        Whether the application limited the sender during the rate sample: the path may be faster.
        """
    @property
    def recovery(self, /) -> bool:
        """
        Whether the stack is recovering from losses: it rules the window then, the scheme only measures.
        """
    @property
    def retransmitted(self, /) -> int:
        """
        Total bytes retransmitted since the connection began.
        """
    @property
    def round(self, /) -> int:
        """
        Packet-timed round trips completed since the connection began.
        """
    @property
    def round_start(self, /) -> bool:
        """
        Whether this is the first ACK of a new round.
        """
    @property
    def rtt(self, /) -> int:
        """
        Round-trip time of the newest delivered segment, nanoseconds; 0 if only retransmissions were delivered.
        """
    @property
    def sent(self, /) -> int:
        """
        Total bytes sent since the connection began, retransmissions included.
        """
    @property
    def srtt(self, /) -> int:
        """
        Smoothed round-trip time (RFC 6298), nanoseconds.
        """

@final
class Column:
    """
    A column of a table.
    """
    def __repr__(self, /) -> str: ...
    @property
    def doc(self, /) -> str:
        """
        Meaning, and the meaning of null.
        """
    @property
    def kind(self, /) -> str:
        """
        Type: bool, uint64, double, string, list of uint64 or list of double.
        """
    @property
    def name(self, /) -> str:
        """
        Name, with the unit as its last word where it has one.
        """
    @property
    def nullable(self, /) -> bool:
        """
        Whether a value may be null.
        """
    @property
    def unit(self, /) -> str:
        """
        Unit; empty where there is none.
        """

@final
class Congestion:
    """
    The start of a loss, mark or timeout episode; each episode is reported once.
    """
    def __repr__(self, /) -> str: ...
    @property
    def base(self, /) -> int:
        """
        The window that a multiplicative decrease applies to, bytes; never 0.
        """
    @property
    def in_flight(self, /) -> int:
        """
        Bytes in flight at that time, lost bytes included.
        """
    @property
    def lost(self, /) -> int:
        """
        Bytes declared lost so far in this episode.
        """
    @property
    def min_rtt(self, /) -> int:
        """
        Smallest round-trip time of the connection so far, nanoseconds.
        """
    @property
    def mss(self, /) -> int:
        """
        Payload bytes of a full segment; never 0.
        """
    @property
    def now(self, /) -> int:
        """
        Time at which the sender detected the episode, nanoseconds.
        """
    @property
    def trigger(self, /) -> str:
        """
        Signal that began the episode, as the reason with which a start-up ends: loss, mark or timeout.
        """

@final
class Control:
    """
    The registers that a scheme writes. The sender enforces them, and keeps the window at one segment at least.
    """
    def __repr__(self, /) -> str: ...
    @property
    def ask(self, /) -> int:
        """
        Rate to ask the routers for, bit/s; 0 asks for nothing.
        """
    @ask.setter
    def ask(self, /, value: SupportsIndex) -> None:
        """
        Rate to ask the routers for, bit/s; 0 asks for nothing.
        """
    @property
    def burst(self, /) -> int:
        """
        Largest number of bytes that may leave back to back under pacing; 0 is one segment.
        """
    @burst.setter
    def burst(self, /, value: SupportsIndex) -> None:
        """
        Largest number of bytes that may leave back to back under pacing; 0 is one segment.
        """
    @property
    def cwnd(self, /) -> int:
        """
        Congestion window, bytes.
        """
    @cwnd.setter
    def cwnd(self, /, value: SupportsIndex) -> None:
        """
        Congestion window, bytes.
        """
    @property
    def droppable(self, /) -> bool:
        """
        Whether new data is marked as droppable.
        """
    @droppable.setter
    def droppable(self, /, value: bool) -> None:
        """
        Whether new data is marked as droppable.
        """
    def pace(self, /, bytes: SupportsIndex, span: SupportsIndex, mss: SupportsIndex) -> None:
        """
        Spreads `bytes` evenly over `span` nanoseconds, one segment of `mss` bytes at a time.
        """
    @property
    def pacing(self, /) -> int:
        """
        Pacing rate, bit/s; 0 sends as the window allows. Needs the signal pacing.
        """
    @pacing.setter
    def pacing(self, /, value: SupportsIndex) -> None:
        """
        Pacing rate, bit/s; 0 sends as the window allows. Needs the signal pacing.
        """
    @property
    def provisional(self, /) -> bool:
        """
        Whether the window in use is a guess, which the sender takes back after the first sign of loss.
        """
    @provisional.setter
    def provisional(self, /, value: bool) -> None:
        """
        Whether the window in use is a guess, which the sender takes back after the first sign of loss.
        """
    @property
    def ssthresh(self, /) -> int:
        """
        Slow-start threshold, bytes; 2**64 - 1 is infinite.
        """
    @ssthresh.setter
    def ssthresh(self, /, value: SupportsIndex) -> None:
        """
        Slow-start threshold, bytes; 2**64 - 1 is infinite.
        """
    def stop_pacing(self, /) -> None:
        """
        Ends pacing: data leaves as the window allows.
        """

@final
class Entry:
    """
    Why a scheme begins, and the knowledge of the path at that time.
    """
    def __repr__(self, /) -> str: ...
    @property
    def flow_size(self, /) -> int:
        """
        Bytes that the application has queued; 2**64 - 1 if unlimited.
        """
    @property
    def granted(self, /) -> int:
        """
        Rate that the routers granted, bit/s; 0 without one.
        """
    @property
    def in_flight(self, /) -> int:
        """
        Bytes in flight.
        """
    @property
    def mss(self, /) -> int:
        """
        Payload bytes of a full segment; never 0.
        """
    @property
    def now(self, /) -> int:
        """
        Time at which the scheme begins, nanoseconds.
        """
    @property
    def plan(self, /) -> Plan:
        """
        Start proposed by a memory of the path.
        """
    @property
    def receive_window(self, /) -> int:
        """
        The peer's receive window, bytes.
        """
    @property
    def rtt(self, /) -> int:
        """
        Smoothed round-trip time, or the handshake's, nanoseconds; 0 without a sample.
        """
    @property
    def why(self, /) -> str:
        """
        Cause: connect, handover, idle, migrate or timeout.
        """
    @property
    def window(self, /) -> int:
        """
        Congestion window before an idle time, bytes; 0 unless `why` is idle.
        """

@final
class Lost:
    """
    A segment was declared lost. Reported to schemes that need the signal per-packet-loss.
    """
    def __repr__(self, /) -> str: ...
    @property
    def bytes(self, /) -> int:
        """
        Its payload bytes.
        """
    @property
    def delivered(self, /) -> int:
        """
        Total bytes delivered since the connection began, those of the ACK that showed the loss included.
        """
    @property
    def lost(self, /) -> int:
        """
        Total bytes declared lost since the connection began, these included.
        """
    @property
    def mss(self, /) -> int:
        """
        Payload bytes of a full segment; never 0.
        """
    @property
    def now(self, /) -> int:
        """
        Time at which the sender declared it, nanoseconds.
        """
    @property
    def number(self, /) -> int:
        """
        Position of the segment in the order of the data: the segment that follows it has the next number.
        """
    @property
    def prior_delivered(self, /) -> int:
        """
        Value of `delivered` when the segment was sent.
        """
    @property
    def prior_in_flight(self, /) -> int:
        """
        Bytes in flight just after the segment was sent, itself included.
        """
    @property
    def prior_lost(self, /) -> int:
        """
        Value of `lost` when the segment was sent.
        """
    @property
    def rate_limited(self, /) -> bool:
        """
        Whether the application limited the sender when the segment was sent.
        """

@final
class Outcome:
    """
    The result of a call, from which the classes of the package are made.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self, /) -> "tuple[object, tuple[str, list[tuple[int, int]], list[tuple[str, bytes]]]]":
        """
        A result goes to other processes as JSON, with the counters of its links that JSON leaves out and the files of its packets.
        """
    def factors(self, /) -> list[str]:
        """
        The keys that a sweep varies, in the order of their columns; empty for other results.
        """
    def json(self, /) -> str:
        """
        The object that the command prints with --json, as text; of a sweep its factors and rows.
        """
    def page(self, /) -> str:
        """
        The page of a comparison.
        """
    @staticmethod
    def restored(text: str, counters: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex]], files: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsIndex]]]) -> Outcome:
        """
        The result that another process sent.
        """
    def summary(self, /) -> tuple[str, int, int] | None:
        """
        Title of a run, and its number of runs and of flows in the first one; other results have none.
        """
    def table(self, /, name: str) -> Table:
        """
        The table of this name. Raises KeyError if the result has none.
        """
    def write(self, /, folder: "str | os.PathLike[str]") -> "list[str]":
        """
        Writes the files of the command into a folder, which is created if it is missing, and answers their paths. Either all files
        are written, or none.
        """

@final
class Plan:
    """
    Start that a memory of the path proposes; all fields are 0 without one.
    """
    def __repr__(self, /) -> str: ...
    @property
    def age(self, /) -> int:
        """
        Time since the path was last measured, nanoseconds.
        """
    @property
    def cwnd(self, /) -> int:
        """
        Proposed window, bytes.
        """
    @property
    def rtt(self, /) -> int:
        """
        Round-trip time for which the start was proposed, nanoseconds.
        """
    @property
    def samples(self, /) -> int:
        """
        Number of samples behind the proposal.
        """
    @property
    def ssthresh(self, /) -> int:
        """
        Proposed slow-start threshold, bytes.
        """

@final
class Rows:
    """
    The rows of a table, one after another.
    """
    def __iter__(self, /) -> Rows: ...
    def __next__(self, /) -> dict: ...

@final
class Scenario:
    """
    An experiment: a path or a graph of links, flows, cross traffic.

    Scenario(source, **keys) takes a text in TOML, the path of a scenario file, the name of a path preset or another scenario, and
    keys of the format that replace those of the source: Scenario("cable", path={"rtt": "80 ms"}, flow=[{"size": "300 KB"}]).
    Tables are merged, key by key; lists and values are replaced. Without a source, the keys are the scenario. Quantities are texts
    with their unit, as in a file: "40 Mbit/s", "100 ms", "300 KB". Numbers are bit/s, seconds and bytes: path={"rate": 40e6,
    "rtt": 0.1}. Finer values are rounded to whole bit/s, nanoseconds and bytes. Shares may be percentages: "1%".

    Raises firstflight.Error with file, line, key and value if the scenario is invalid, FileNotFoundError if there is no such file.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, source: "str | os.PathLike[str] | Scenario | None" = None, /, **keys: "object") -> Scenario: ...
    def __reduce__(self, /) -> "tuple[object, tuple[object, ...]]":
        """
        Scenarios go to other processes as their text, with the folder of the file: traces are read again, from there.
        """
    def __repr__(self, /) -> str: ...
    @staticmethod
    def from_file(path: "str | os.PathLike[str]") -> Scenario:
        """
        The scenario of a file; the names of other files in it are relative to its folder.
        """
    @staticmethod
    def from_text(text: str, name: str = "scenario") -> Scenario:
        """
        The scenario of a text in TOML; `name` is its name in errors. The text may not name other files.
        """
    @property
    def hash(self, /) -> str:
        """
        SHA-256 of to_toml() in hexadecimal: equal for scenarios that describe the same experiment.
        """
    @staticmethod
    def preset(name: str) -> Scenario:
        """
        The path preset of this name, a scenario without traffic. presets() lists the names.
        """
    def replace(self, /, keys: "collections.abc.Mapping[str, object]") -> Scenario:
        """
        The same scenario with other values of some keys, each named with its tables: {"path.rate": "20 Mbit/s",
        "flow.bulk.size": "1 MB"}. A group without a name is called by its kind and number, flow0. A value None removes the key.
        """
    @staticmethod
    def restored(text: str, name: str, folder: "str | os.PathLike[str] | None") -> Scenario:
        """
        The scenario that another process sent. Raises firstflight.Error if a trace is not in its folder here.
        """
    @property
    def text(self, /) -> str:
        """
        The text of the scenario, as written or made from keys.
        """
    @property
    def title(self, /) -> str:
        """
        Title; empty if the scenario has none.
        """
    def to_toml(self, /) -> str:
        """
        The scenario as a file in TOML that leaves nothing to a default.
        """

@final
class Sent:
    """
    Data left the sender. Reported to schemes that need the signal per-packet-send.
    """
    def __repr__(self, /) -> str: ...
    @property
    def bytes(self, /) -> int:
        """
        Payload bytes sent.
        """
    @property
    def mss(self, /) -> int:
        """
        Payload bytes of a full segment; never 0.
        """
    @property
    def now(self, /) -> int:
        """
        Time of sending, nanoseconds.
        """

@final
class Table:
    """
    A table of results: one Arrow record batch.

    pyarrow, polars, pandas, duckdb and every other program that reads the Arrow PyCapsule interface take it as it is and copy
    nothing: `pyarrow.table(table)`, `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)`.
    """
    def __arrow_c_array__(self, /, requested_schema: "object" = None) -> "tuple[object, object]":
        """
        The table as one struct array: capsules of its schema and its data. Another schema is not offered.
        """
    def __arrow_c_schema__(self, /) -> "object":
        """
        The Arrow schema, as a capsule of the Arrow C data interface.
        """
    def __arrow_c_stream__(self, /, requested_schema: "object" = None) -> "object":
        """
        The table as a stream of one batch: a capsule of the Arrow C stream interface. Another schema is not offered.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, column: str, /) -> list[Any | None]:
        """
        The values of a column as Python values: table["completion_s"]. Raises firstflight.Error with the nearest name.
        """
    def __iter__(self, /) -> Rows:
        """
        The rows, one after another, each as a dictionary of Python values.
        """
    def __len__(self, /) -> int: ...
    def __reduce__(self, /) -> "tuple[object, tuple[object, ...]]":
        """
        A table goes to other processes as its columns and their values.
        """
    def __repr__(self, /) -> str: ...
    def _repr_html_(self, /) -> str:
        """
        The first rows for a notebook.
        """
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns, in order.
        """
    @property
    def columns(self, /) -> list[Column]:
        """
        The columns, in order, each with type, unit and meaning.
        """
    def head(self, /, rows: SupportsIndex = 5) -> Table:
        """
        The first rows, 5 unless another number is given, as a table.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the table: flow, link, result and so on.
        """
    @staticmethod
    def restored(name: str, columns: "list[tuple[str, str, str, str, bool]]", values: "list[list[typing.Any]]") -> Table:
        """
        The table that another process sent.
        """
    def to_arrow(self, /) -> "typing.Any":
        """
        The table as a pyarrow.Table, without a copy. Raises firstflight.Error if pyarrow is not installed.
        """
    def to_dicts(self, /) -> "list[dict[str, typing.Any]]":
        """
        The rows as dictionaries of Python values. Each call copies: large tables are better read as Arrow.
        """
    def to_pandas(self, /) -> "typing.Any":
        """
        The table as a pandas.DataFrame, by its Arrow interface. Raises firstflight.Error if pandas is not installed.
        """
    def to_polars(self, /) -> "typing.Any":
        """
        The table as a polars.DataFrame, without a copy. Raises firstflight.Error if polars is not installed.
        """

def algorithms() -> str:
    """
    Every scheme and every queue, as the JSON of the command algorithms.
    """

def compare(input: "object" = None, *, schemes: "collections.abc.Sequence[object] | None" = None, avoidance: str = "cubic", sizes: SupportsGetItem[int, str] | None = None, rate: str | None = None, rtt: str | None = None, buffer: str | None = None, loss: str | None = None, deployable: bool = False, max_harm: SupportsFloat | SupportsIndex | None = None, max_loss: str | None = None, fastest: bool = False, by: str = "geometric-mean", harm: bool = True, profile: str = "linux", replications: SupportsIndex = 30, seed: SupportsIndex = 1, memory: str | None = None, trace: bool = False, bpf: "collections.abc.Sequence[str | os.PathLike[str]]" = ..., keylog: "str | os.PathLike[str] | None" = None, command: str = ..., progress: "collections.abc.Callable[[str, int, int], object] | None" = None) -> Outcome:
    """
    Ranks schemes on a path. firstflight.compare is the function for users.
    """

def identify(capture: "object", *, first: SupportsIndex = 5, seed: SupportsIndex = 1, keylog: "str | os.PathLike[str] | None" = None, progress: "collections.abc.Callable[[str, int, int], object] | None" = None) -> str:
    """
    Identifies the senders of a capture, as the JSON of the command identify. firstflight.identify is the function for users.
    """

def in_toml(key: str, value: "object") -> str:
    """
    A value of a key with its tables, `path.rate`, in TOML. Raises firstflight.Error with the key if it is no value of a scenario.
    """

def infer(capture: "object", *, keylog: "str | os.PathLike[str] | None" = None, progress: "collections.abc.Callable[[str, int, int], object] | None" = None) -> Outcome:
    """
    Infers the path that captured connections crossed. firstflight.infer is the function for users.
    """

def presets() -> list[str]:
    """
    Names of the path presets.
    """

def profiles() -> list[str]:
    """
    Names of the stack profiles, as the keyword profile takes them.
    """

def quantity(keyword: str, value: "object", measure: str) -> str:
    """
    The text of a quantity, from a text or a number. `measure` is rate, time, size or share. Raises firstflight.Error with the keyword
    if the value is neither, or no finite number of zero or more.
    """

def run(scenario: Scenario, *, schemes: "collections.abc.Sequence[object] | None" = None, avoidance: str = "cubic", replications: SupportsIndex = 1, seed: SupportsIndex | None = None, grid: str = "1 s", memory: str | None = None, trace: bool = False, bpf: "collections.abc.Sequence[str | os.PathLike[str]]" = ..., progress: "collections.abc.Callable[[str, int, int], object] | None" = None) -> Outcome:
    """
    Runs a scenario in the simulator. firstflight.run is the function for users.
    """

def signals() -> list[str]:
    """
    Names of the signals that a scheme may need.
    """

def slow_start(ack: Ack, control: Control) -> str | None:
    """
    Slow start's growth (RFC 5681 section 3.1): the rule below the threshold in every scheme that has no other. The answer is that
    of on_ack.
    """

def sweep(factors: "list[tuple[list[str], list[list[object]]]]", *, base: Scenario, schemes: "collections.abc.Sequence[object] | None" = None, avoidance: str = "cubic", sizes: SupportsGetItem[int, str] | None = None, profile: str = "linux", replications: SupportsIndex = 1, seed: SupportsIndex | None = None, memory: str | None = None, progress: "collections.abc.Callable[[str, int, int], object] | None" = None) -> Outcome:
    """
    Runs a scenario at every combination of the values of keys. firstflight.sweep is the function for users.
    """
