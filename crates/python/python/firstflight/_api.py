"""The functions of the package."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from . import _arguments as given
from . import _dataset
from . import _firstflight as native
from ._arguments import Quantity
from ._dataset import Dataset
from ._error import Error
from ._firstflight import Scenario
from ._progress import ProgressCallback, shown
from ._results import Comparison, IdentifiedSender, InferredPath, RunResult, SweepResult
from ._scheme import SchemeLike

if TYPE_CHECKING:
    from distributed import Client

InputLike: TypeAlias = "Scenario | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A scenario; the name of a path preset; the path of a capture or of a scenario file; or a list of captures."""


def _scenario(source: Scenario | str | os.PathLike[str]) -> Scenario:
    return source if isinstance(source, Scenario) else Scenario(source)


def preset(name: str) -> Scenario:
    """The path preset of this name: a scenario without traffic. ``presets()`` lists the names.

    Raises Error, with the nearest name, if there is no such preset.
    """
    return Scenario.preset(name)


def profiles() -> list[str]:
    """Names of the stacks that can run the schemes, for the keyword ``profile``."""
    return native.profiles()


def algorithms() -> list[dict[str, Any]]:
    """Every scheme and queue: ``label``, ``role``, ``source``, ``needs`` and ``hosts``, as ``firstflight algorithms --json``."""
    return json.loads(native.algorithms())


def run(
    scenario: Scenario | str | os.PathLike[str],
    *,
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    avoidance: str = "cubic",
    replications: int = 1,
    seed: int | None = None,
    grid: Quantity = "1 s",
    memory: Quantity | None = None,
    trace: bool = False,
    bpf: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    progress: bool | ProgressCallback | None = None,
) -> RunResult:
    """Runs a scenario in the simulator, as ``firstflight run`` does.

    Args:
        scenario: a Scenario, a text in TOML, or the path of a scenario file.
        schemes: schemes in place of the scenario's own: one for all ``[[flow]]`` groups, or one for each in order. A chain of
            labels, or a class of your own (see Scheme).
        avoidance: the avoidance scheme after a start-up scheme of your own.
        replications: number of runs, from 1 to 100 000, each under the next seed; more than one adds means with 95 %
            confidence intervals.
        seed: seed of the first run; None is the scenario's.
        grid: time between two entries of ``delivered_at``, such as ``"100 ms"`` or a number of seconds.
        memory: limit of the memory of all runs, such as ``"8 GB"`` or a number of bytes; None is 4 GB. It decides whether the runs are made.
        trace: whether the flows of the first run are recorded over time, for ``samples``, ``plot.windows()`` and ``write()``.
        bpf: BPF objects with congestion controls of the Linux kernel, which ``schemes`` may name: bpf_cubic is ``"bpf-cubic"``.
            They need profile linux.
        progress: True, False or a function (name of the work, steps done, steps in all); None shows a bar in a notebook or a
            terminal.

    Returns:
        The flows, links and runs as tables. The same scenario and seed give the same result on every machine.

    Raises:
        Error: bad input, in one line.
        KeyboardInterrupt: the runs are ended.
    """
    with shown(progress) as callback:
        outcome = native.run(
            _scenario(scenario),
            schemes=given.listed(schemes),
            avoidance=given.word("avoidance", avoidance),
            replications=given.replications(replications),
            seed=None if seed is None else given.seed(seed),
            grid=native.quantity("grid", grid, "time"),
            memory=given.quantity("memory", memory, "size"),
            trace=given.flag("trace", trace),
            bpf=given.paths("bpf", bpf),
            progress=callback,
        )
    return RunResult(outcome)


def compare(
    input: InputLike | None = None,
    *,
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    startups: str | Sequence[str] | None = None,
    avoidance: str = "cubic",
    sizes: Quantity | Iterable[Quantity] | None = None,
    rate: Quantity | None = None,
    rtt: Quantity | None = None,
    buffer: str | None = None,
    loss: Quantity | None = None,
    deployable: bool = False,
    max_harm: float | None = None,
    max_loss: Quantity | None = None,
    fastest: bool = False,
    by: str = "geometric-mean",
    harm: bool = True,
    profile: str = "linux",
    replications: int = 30,
    seed: int = 1,
    memory: Quantity | None = None,
    trace: bool = False,
    bpf: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    keylog: str | os.PathLike[str] | None = None,
    progress: bool | ProgressCallback | None = None,
) -> Comparison:
    """Ranks start-up schemes by completion time, as ``firstflight compare`` does.

    Args:
        input: the name of a preset, a Scenario, the path of a scenario file, or one or more captures (pcap, pcapng) taken at the
            sender. None if ``rate``, ``rtt`` and ``buffer`` describe the path.
        schemes: chains of labels such as ``"hystart+++cubic"``, also with settings behind an ``@``, and classes of your own (see
            Scheme). A plain name is what the stack has under it: ``"cubic"`` is ``"hystart-linux+cubic"`` with profile linux. None
            compares the usual ones.
        startups: start-up schemes, each followed by ``avoidance``; after ``schemes``.
        avoidance: the avoidance scheme after ``startups`` and after start-up schemes of your own.
        sizes: sizes of the transfers, texts or numbers of bytes: ``300_000``; None is ``["30KB", "300KB", "3MB"]``.
        rate, rtt, buffer, loss: the path, such as ``"40 Mbit/s"``, ``"100 ms"``, ``"1 BDP"``, ``"0.1%"``. Numbers are bit/s (``40e6``),
            seconds (``0.1``) and a probability (``0.001``); a buffer needs its unit. Finer values are rounded to whole bit/s and
            nanoseconds. With a preset or a capture they replace its values.
        deployable: whether only what the stack of the profile has is compared.
        max_harm: largest harm of a recommended scheme to others that share the bottleneck, a ratio; None is 1.1.
        max_loss: largest share of its packets that a recommended scheme may drop, such as ``"1%"`` or ``0.01``.
        fastest: whether the fastest is recommended, whatever it costs.
        by: statistic of the times by which schemes are chosen, over all paths that a capture leaves possible: ``"geometric-mean"``, ``"mean"``, or
            a percentile such as ``"p95"``.
        harm: whether harm is measured; without it the comparison is sooner done, and no limit of harm holds.
        profile: the stack that runs the schemes, such as ``"linux"``; ``profiles()`` lists them.
        replications: replications of each scheme at each size, from 1 to 100 000; one runs if nothing is random or unknown.
        seed: seed of all random numbers; every scheme meets the same randomness.
        memory: limit of the memory of all runs, such as ``"8 GB"``; None is 4 GB.
        trace: whether packets are recorded, for ``write()``.
        bpf: as in ``run``.
        keylog: a key log (``SSLKEYLOGFILE``) of captured QUIC connections; their packets are then read, where they are modelled otherwise.
        progress: as in ``run``.

    Returns:
        The ranked results and the data behind them as tables.

    Raises:
        Error: bad input, in one line.
        KeyboardInterrupt: the runs are ended.
    """
    chains: list[Any] = given.listed(schemes) or []
    avoidance = given.word("avoidance", avoidance, "a label such as \"cubic\"")
    chains += [f"{given.word('startups', startup)}+{avoidance}" for startup in given.listed(startups) or []]
    with shown(progress) as callback:
        outcome = native.compare(
            input,
            schemes=chains,
            avoidance=avoidance,
            sizes=given.sizes(sizes),
            rate=given.quantity("rate", rate, "rate"),
            rtt=given.quantity("rtt", rtt, "time"),
            buffer=given.depth(buffer),
            loss=given.quantity("loss", loss, "share"),
            deployable=given.flag("deployable", deployable),
            max_harm=given.ratio("max_harm", max_harm),
            max_loss=given.quantity("max_loss", max_loss, "share"),
            fastest=given.flag("fastest", fastest),
            by=given.word("by", by, "a statistic such as \"p95\""),
            harm=given.flag("harm", harm),
            profile=given.word("profile", profile),
            replications=given.replications(replications),
            seed=given.seed(seed),
            memory=given.quantity("memory", memory, "size"),
            trace=given.flag("trace", trace),
            bpf=given.paths("bpf", bpf),
            keylog=given.file("keylog", keylog),
            command="firstflight.compare",
            progress=callback,
        )
    return Comparison(outcome)


def infer(
    capture: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    keylog: str | os.PathLike[str] | None = None,
    progress: bool | ProgressCallback | None = None,
) -> InferredPath:
    """Infers the path that the connections of a capture crossed, from their packets alone.

    ``compare(capture)`` goes further: it also searches for the kinds of path that explain the connections.

    Args:
        capture: the path of a pcap or pcapng file or of a qlog, plain or compressed with gzip or zstd, of a folder of them, or a list.
        keylog: as in ``compare``.
        progress: as in ``run``.

    Raises:
        Error: the file is no capture, or has no connections that carried data; the key log is none.
    """
    with shown(progress) as callback:
        return InferredPath(native.infer(capture, keylog=given.file("keylog", keylog), progress=callback))


def identify(
    capture: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    first: int = 5,
    seed: int = 1,
    keylog: str | os.PathLike[str] | None = None,
    progress: bool | ProgressCallback | None = None,
) -> list[IdentifiedSender]:
    """Names the stack of each sender of a capture by how it starts, as ``firstflight identify`` does.

    Args:
        capture: as in ``infer``; taken at the sender, with transfers of 300 KB or more from their first packet, it shows most.
        first: only so many senders, of those with most data.
        seed: seed of the paths that are drawn within the ranges of the estimates.
        keylog: as in ``compare``.
        progress: as in ``run``.

    Returns:
        The senders, those with most data first. Warnings of the capture are raised as UserWarning.

    Raises:
        Error: the file is no capture, or no sender shows a round trip and a transfer of 9 KB; the key log is none.
    """
    with shown(progress) as callback:
        text = native.identify(
            capture,
            first=given.count("first", first),
            seed=given.seed(seed),
            keylog=given.file("keylog", keylog),
            progress=callback,
        )
    return [IdentifiedSender(sender) for sender in json.loads(text)]


@overload
def sweep(
    factors: Mapping[Any, Iterable[Any]],
    *,
    base: Scenario | str | os.PathLike[str],
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    avoidance: str = "cubic",
    sizes: Quantity | Iterable[Quantity] | None = None,
    profile: str = "linux",
    replications: int = 1,
    seed: int | None = None,
    memory: Quantity | None = None,
    progress: bool | ProgressCallback | None = None,
    client: None = None,
    out: None = None,
) -> SweepResult: ...


@overload
def sweep(
    factors: Mapping[Any, Iterable[Any]],
    *,
    base: Scenario | str | os.PathLike[str],
    schemes: str | Sequence[str] | None = None,
    sizes: Quantity | Iterable[Quantity] | None = None,
    profile: str = "linux",
    replications: int = 1,
    seed: int | None = None,
    memory: Quantity | None = None,
    client: Client,
    out: str | os.PathLike[str],
) -> Dataset: ...


def sweep(
    factors: Mapping[Any, Iterable[Any]],
    *,
    base: Scenario | str | os.PathLike[str],
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    avoidance: str = "cubic",
    sizes: Quantity | Iterable[Quantity] | None = None,
    profile: str = "linux",
    replications: int = 1,
    seed: int | None = None,
    memory: Quantity | None = None,
    progress: bool | ProgressCallback | None = None,
    client: Client | None = None,
    out: str | os.PathLike[str] | None = None,
) -> SweepResult | Dataset:
    """Runs a scenario at every combination of the values of some keys: in memory, or on a Dask cluster into a dataset.

    Args:
        factors: values of each key: ``{"path.rate": ["10 Mbit/s", "20 Mbit/s"], "flow.bulk.size": ["30 KB", "3 MB"]}``. A group
            without a name is called by its kind and number, ``flow0``. The last factor varies fastest. Keys in a tuple vary together:
            ``{("path.rate", "path.rtt"): [("10 Mbit/s", "80 ms"), ("20 Mbit/s", "40 ms")]}``, as ``zip`` in a grid of the command.
        base: the scenario. On a path without traffic, one transfer of 300 KB is run.
        schemes: schemes of the first ``[[flow]]``, each in every combination with the same seeds; None is the scenario's own.
        avoidance: the avoidance scheme after start-up schemes of your own.
        sizes: sizes, texts or numbers of bytes, of the first ``[[flow]]``, each in every combination; None is the scenario's own.
        profile: the stack of the transfer on a path without traffic.
        replications: runs of each combination, scheme and size, from 1 to 100 000, each under the next seed.
        seed: seed of the first replication; None is the scenario's.
        memory: limit of the memory, such as ``"8 GB"``; None is 4 GB.
        progress: as in ``run``; not with a client, whose dashboard shows the progress.
        client: a Dask client. Its workers run ``firstflight sweep``, so that each needs the wheel or the program. The dataset is the
            one of that command: killed at any time, the next call goes on where it stopped.
        out: folder of the dataset, with a client only.

    Returns:
        A row for each run, with a column for each factor. With a client, the dataset.

    Raises:
        Error: bad input, in one line; before anything is run.
        KeyboardInterrupt: the runs are ended.
    """
    if (client is None) != (out is None):
        raise Error("client, out: one of them is missing; expected both for a dataset, or none for results in memory")
    if client is not None and out is not None:
        labels = given.listed(schemes)
        if any(not isinstance(label, str) for label in labels or []):
            raise Error("schemes: a scheme in Python runs in this process only; expected labels for a sweep with a client")
        grid = _dataset.grid(
            given.factors(factors),
            schemes=labels,
            sizes=given.sizes(sizes),
            profile=given.word("profile", profile),
            replications=given.replications(replications),
            seed=None if seed is None else given.seed(seed),
        )
        return _dataset.sweep(grid, _scenario(base), out, client, given.quantity("memory", memory, "size"))
    with shown(progress) as callback:
        outcome = native.sweep(
            given.factors(factors),
            base=_scenario(base),
            schemes=given.listed(schemes),
            avoidance=given.word("avoidance", avoidance),
            sizes=given.sizes(sizes),
            profile=given.word("profile", profile),
            replications=given.replications(replications),
            seed=None if seed is None else given.seed(seed),
            memory=given.quantity("memory", memory, "size"),
            progress=callback,
        )
    return SweepResult(outcome)
