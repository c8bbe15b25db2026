"""The functions of the package."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from . import _dataset
from . import _firstflight as native
from ._dataset import Dataset
from ._error import Error
from ._firstflight import Scenario
from ._progress import ProgressCallback, shown
from ._results import Comparison, InferredPath, RunResult, SweepResult
from ._scheme import SchemeLike

if TYPE_CHECKING:
    from distributed import Client

InputLike: TypeAlias = "Scenario | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A scenario; the name of a path preset; the path of a capture or of a scenario file; or a list of captures."""


def _scenario(source: Scenario | str | os.PathLike[str]) -> Scenario:
    return source if isinstance(source, Scenario) else Scenario(source)


def _list(values: Any) -> Any:
    """A list from one value or from several."""
    if values is None or isinstance(values, str):
        return None if values is None else [values]
    return list(values) if isinstance(values, Iterable) else [values]


def preset(name: str) -> Scenario:
    """The path preset of this name: a scenario without traffic. ``presets()`` lists the names.

    Raises Error, with the nearest name, if there is no such preset.
    """
    return Scenario.preset(name)


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
    grid: str = "1 s",
    memory: str | None = None,
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
        grid: time between two entries of ``delivered_at``, such as ``"100 ms"``.
        memory: limit of the memory of all runs, such as ``"8 GB"``; None is 4 GB. It decides whether the runs are made.
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
            schemes=_list(schemes),
            avoidance=avoidance,
            replications=replications,
            seed=seed,
            grid=grid,
            memory=memory,
            trace=trace,
            bpf=_list(bpf) or [],
            progress=callback,
        )
    return RunResult(outcome)


def compare(
    input: InputLike | None = None,
    *,
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    startups: str | Sequence[str] | None = None,
    avoidance: str = "cubic",
    sizes: str | Sequence[str] | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
    loss: str | float | None = None,
    deployable: bool = False,
    max_harm: float | None = None,
    max_loss: str | float | None = None,
    fastest: bool = False,
    harm: bool = True,
    profile: str = "linux",
    replications: int = 30,
    seed: int = 1,
    memory: str | None = None,
    trace: bool = False,
    bpf: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
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
        sizes: sizes of the transfers; None is ``["30KB", "300KB", "3MB"]``.
        rate, rtt, buffer, loss: the path, such as ``"40 Mbit/s"``, ``"100 ms"``, ``"1 BDP"``, ``"0.1%"``. With a preset or a
            capture they replace its values.
        deployable: whether only what a deployed stack has is compared.
        max_harm: largest harm of a recommended scheme to others that share the bottleneck, a ratio; None is 1.1.
        max_loss: largest share of its packets that a recommended scheme may drop, such as ``"1%"``.
        fastest: whether the fastest is recommended, whatever it costs.
        harm: whether harm is measured; without it the comparison is sooner done, and no limit of harm holds.
        profile: the stack that runs the schemes: ``"linux"``, ``"rfc"``, ``"ns2"`` or ``"quinn"``.
        replications: replications of each scheme at each size, from 1 to 100 000; one runs if nothing is random or unknown.
        seed: seed of all random numbers; every scheme meets the same randomness.
        memory: limit of the memory of all runs, such as ``"8 GB"``; None is 4 GB.
        trace: whether packets are recorded, for ``write()``.
        bpf: as in ``run``.
        progress: as in ``run``.

    Returns:
        The ranked results and the data behind them as tables.

    Raises:
        Error: bad input, in one line.
        KeyboardInterrupt: the runs are ended.
    """
    chains: list[Any] = _list(schemes) or []
    chains += [f"{startup}+{avoidance}" for startup in _list(startups) or []]
    with shown(progress) as callback:
        outcome = native.compare(
            input,
            schemes=chains,
            avoidance=avoidance,
            sizes=_list(sizes),
            rate=rate,
            rtt=rtt,
            buffer=buffer,
            loss=None if loss is None else str(loss),
            deployable=deployable,
            max_harm=max_harm,
            max_loss=None if max_loss is None else str(max_loss),
            fastest=fastest,
            harm=harm,
            profile=profile,
            replications=replications,
            seed=seed,
            memory=memory,
            trace=trace,
            bpf=_list(bpf) or [],
            command="firstflight.compare",
            progress=callback,
        )
    return Comparison(outcome)


def infer(
    capture: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    progress: bool | ProgressCallback | None = None,
) -> InferredPath:
    """Infers the path that the TCP connections of a capture crossed, from their packets alone.

    ``compare(capture)`` goes further: it also searches for the kinds of path that explain the connections.

    Args:
        capture: the path of a pcap or pcapng file, plain or compressed with gzip or zstd, of a folder of them, or a list.
        progress: as in ``run``.

    Raises:
        Error: the file is no capture, or has no TCP connections that carried data.
    """
    with shown(progress) as callback:
        return InferredPath(native.infer(capture, progress=callback))


@overload
def sweep(
    factors: Mapping[str, Sequence[Any]],
    *,
    base: Scenario | str | os.PathLike[str],
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    avoidance: str = "cubic",
    sizes: str | Sequence[str] | None = None,
    profile: str = "linux",
    replications: int = 1,
    seed: int | None = None,
    memory: str | None = None,
    progress: bool | ProgressCallback | None = None,
    client: None = None,
    out: None = None,
) -> SweepResult: ...


@overload
def sweep(
    factors: Mapping[str, Sequence[Any]],
    *,
    base: Scenario | str | os.PathLike[str],
    schemes: str | Sequence[str] | None = None,
    sizes: str | Sequence[str] | None = None,
    profile: str = "linux",
    replications: int = 1,
    seed: int | None = None,
    memory: str | None = None,
    client: Client,
    out: str | os.PathLike[str],
) -> Dataset: ...


def sweep(
    factors: Mapping[str, Sequence[Any]],
    *,
    base: Scenario | str | os.PathLike[str],
    schemes: SchemeLike | Sequence[SchemeLike] | None = None,
    avoidance: str = "cubic",
    sizes: str | Sequence[str] | None = None,
    profile: str = "linux",
    replications: int = 1,
    seed: int | None = None,
    memory: str | None = None,
    progress: bool | ProgressCallback | None = None,
    client: Client | None = None,
    out: str | os.PathLike[str] | None = None,
) -> SweepResult | Dataset:
    """Runs a scenario at every combination of the values of some keys: in memory, or on a Dask cluster into a dataset.

    Args:
        factors: values of each key: ``{"path.rate": ["10 Mbit/s", "20 Mbit/s"], "flow.bulk.size": ["30 KB", "3 MB"]}``. A group
            without a name is called by its kind and number, ``flow0``. The last factor varies fastest.
        base: the scenario. On a path without traffic, one transfer of 300 KB is run.
        schemes: schemes of the first ``[[flow]]``, each in every combination with the same seeds; None is the scenario's own.
        avoidance: the avoidance scheme after start-up schemes of your own.
        sizes: sizes of the first ``[[flow]]``, each in every combination; None is the scenario's own.
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
        labels = _list(schemes)
        if any(not isinstance(label, str) for label in labels or []):
            raise Error("schemes: a scheme in Python runs in this process only; expected labels for a sweep with a client")
        grid = _dataset.grid(
            factors, schemes=labels, sizes=_list(sizes), profile=profile, replications=replications, seed=seed
        )
        return _dataset.sweep(grid, _scenario(base), out, client, memory)
    with shown(progress) as callback:
        outcome = native.sweep(
            factors,
            base=_scenario(base),
            schemes=_list(schemes),
            avoidance=avoidance,
            sizes=_list(sizes),
            profile=profile,
            replications=replications,
            seed=seed,
            memory=memory,
            progress=callback,
        )
    return SweepResult(outcome, factors)
