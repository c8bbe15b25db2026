"""Schemes in Python run beside the built-in ones."""

from typing import Any

import pytest

import firstflight as ff
from firstflight import Ack, Congestion, Control, Entry

LOSSY = """
[path]
rate = "10 Mbit/s"
rtt = "40 ms"
buffer = "30 packets"
loss = 0.002
[[flow]]
name = "a"
profile = "linux"
size = "2 MB"
"""


class SlowStart:
    """Slow start as RFC 5681 has it."""

    label = "own-slow-start"

    def on_ack(self, ack: Ack, control: Control) -> str | None:
        if ack.recovery:
            return None
        control.cwnd += ack.growth
        return "threshold" if control.cwnd >= control.ssthresh else None

    def on_congestion(self, event: Congestion, control: Control) -> str | None:
        return event.trigger


class Reno:
    """Reno's congestion avoidance: one segment in each round trip, half of the window after a loss (RFC 5681)."""

    label = "own-reno"
    role = "avoidance"

    def __init__(self) -> None:
        self.credit = 0

    def on_ack(self, ack: Ack, control: Control) -> str | None:
        if ack.recovery:
            return None
        if control.cwnd < control.ssthresh:
            ff.slow_start(ack, control)
            return None
        self.credit += ack.growth
        if self.credit >= control.cwnd:
            self.credit -= control.cwnd
            control.cwnd += ack.mss
        return None

    def on_congestion(self, event: Congestion, control: Control) -> str | None:
        control.ssthresh = max(event.base // 2, 2 * event.mss)
        control.cwnd = control.ssthresh
        return None


def plain(result: ff.RunResult) -> list[dict[str, Any]]:
    """Flows without the names of their schemes."""
    rows = result.flows.to_dicts()
    return [{key: row[key] for key in row if key not in ("startup", "avoidance")} for row in rows]


@pytest.mark.parametrize("profile", ["rfc", "linux", "ns2"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_slow_start_in_python_is_the_built_in_one(profile: str, seed: int) -> None:
    scenario = ff.Scenario(LOSSY).replace({"flow.a.profile": profile})
    own = ff.run(scenario, schemes=SlowStart, avoidance="reno", seed=seed)
    assert plain(own) == plain(ff.run(scenario, schemes="slow-start+reno", seed=seed))
    assert own.flows.to_dicts()[0]["startup"] == "own-slow-start"


def test_a_comparison_has_own_and_built_in_schemes() -> None:
    compared = ff.compare("dsl", schemes=[SlowStart, "slow-start+cubic"], sizes=["300KB"])
    own, built_in = compared.results.to_dicts()
    assert {own["scheme"], built_in["scheme"]} == {"own-slow-start+cubic", "slow-start+cubic"}
    assert own["completion_s_median"] == built_in["completion_s_median"]


def test_an_avoidance_scheme_halves_the_window() -> None:
    scenario = ff.Scenario(LOSSY).replace({"path.loss": 0.0, "path.buffer": "50 packets", "flow.a.size": "20 MB"})
    result = ff.run(scenario, schemes=Reno)
    flow = result.flows.to_dicts()[0]
    assert (flow["startup"], flow["avoidance"]) == ("slow-start", "own-reno")
    assert flow["lost_packets"] > 0 and flow["timeouts"] == 0
    # The bandwidth-delay product is 10 Mbit/s * 40 ms = 33 packets of 1500 bytes: with 50 packets of buffer, half of the
    # largest window, 83 packets, still fills the path.
    assert flow["goodput_bit_s"] > 9e6


def test_every_connection_has_a_state_of_its_own() -> None:
    made: list[object] = []

    class Counted(SlowStart):
        label = "counted"

        def __init__(self) -> None:
            made.append(self)

    ff.run(ff.Scenario(LOSSY).replace({"flow.a.count": 3}), schemes=Counted)
    assert len(made) == 3


def test_an_object_is_copied_for_every_connection() -> None:
    class Bounded(SlowStart):
        label = "bounded"

        def __init__(self, bound: int) -> None:
            self.bound, self.seen = bound, 0

        def on_ack(self, ack: Ack, control: Control) -> str | None:
            self.seen += 1
            return "estimate" if control.cwnd >= self.bound * ack.mss else super().on_ack(ack, control)

    given = Bounded(20)
    flow = ff.run(LOSSY, schemes=given).flows.to_dicts()[0]
    assert given.seen == 0
    assert flow["exit_reason"] == "estimate" and flow["exit_cwnd_packets"] == 20


def test_entry_shows_the_path() -> None:
    entries: list[Entry] = []

    class Entered(SlowStart):
        label = "entered"

        def enter(self, entry: Entry, control: Control) -> None:
            entries.append(entry)

    ff.run(LOSSY, schemes=Entered)
    assert (entries[0].why, entries[0].flow_size, entries[0].plan.samples) == ("connect", 2_000_000, 0)


def test_a_scheme_paces() -> None:
    class Paced(SlowStart):
        label = "paced"
        needs = ["pacing"]

        def enter(self, entry: Entry, control: Control) -> None:
            control.cwnd = 40 * entry.mss
            control.pace(control.cwnd, 40_000_000, entry.mss)

    flow = ff.run(ff.Scenario(LOSSY).replace({"path.loss": 0.0}), schemes=Paced).flows.to_dicts()[0]
    assert flow["first_flight_packets"] >= 39


class Broken(SlowStart):
    label = "broken"

    def on_ack(self, ack: Ack, control: Control) -> str | None:
        if ack.delivered > 30_000:
            raise ZeroDivisionError("by the scheme")
        return super().on_ack(ack, control)


@pytest.mark.parametrize("replications", [1, 50])
def test_an_exception_ends_the_run(replications: int) -> None:
    with pytest.raises(ZeroDivisionError, match="by the scheme"):
        ff.run(LOSSY, schemes=Broken, replications=replications)
    with pytest.raises(ZeroDivisionError, match="by the scheme"):
        ff.compare("lte", schemes=[Broken, "slow-start+cubic"], sizes="100KB", replications=replications)


def answering(answer: Any, on: str = "on_ack", of: str = "startup") -> type:
    def method(self: object, event: object, control: object) -> Any:
        return answer

    def nothing(self: object, event: object, control: object) -> None:
        return None

    methods = {"on_ack": nothing, "on_congestion": nothing, on: method}
    return type("Answering", (), {"label": "answering", "role": of, **methods})


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (answering("boredom"), 'answering.on_ack: there is no reason of an exit "boredom"; expected one of: threshold'),
        (answering(3), "answering.on_ack: the answer is of type int; expected None, or the reason"),
        (answering("loss", on="on_congestion", of="avoidance"), "the answer is an exit; expected None from a scheme of the role avoidance"),
        (type("Bare", (), {"label": "bare", "on_ack": lambda *_: None}), "Bare: on_congestion is missing"),
        (type("Nameless", (SlowStart,), {"label": None}), "Nameless: label is missing"),
        (type("Other", (SlowStart,), {"label": "Other Name"}), '"Other Name" is not a label'),
        (type("Taken", (SlowStart,), {"label": "slow-start"}), 'there is already a startup scheme "slow-start"'),
        (type("Roled", (SlowStart,), {"role": "starter"}), 'there is no role "starter"'),
        (type("Needy", (SlowStart,), {"needs": ["rtt-per-akc"]}), 'did you mean "rtt-per-ack"?'),
        (type("Texty", (SlowStart,), {"needs": "rtt-per-ack"}), "needs is a text"),
    ],
)
def test_a_wrong_scheme_is_refused_by_name(scheme: Any, message: str) -> None:
    with pytest.raises(ff.Error) as raised:
        ff.run(LOSSY, schemes=scheme)
    assert message in str(raised.value), raised.value


def test_a_negative_window_is_an_error_of_the_scheme() -> None:
    class Negative(SlowStart):
        label = "negative"

        def on_ack(self, ack: Ack, control: Control) -> str | None:
            control.cwnd = -1
            return None

    with pytest.raises(OverflowError):
        ff.run(LOSSY, schemes=Negative)
