"""Bad input gives one line."""

from pathlib import Path
from typing import Any, Callable

import pytest

import firstflight as ff

MINIMAL: dict[str, Any] = {"path": {"rate": "1 Mbit/s", "rtt": "10 ms", "buffer": "9 packets"}}


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: ff.compare("cabel"), ['cabel: no file and no path preset', 'did you mean "cable"?']),
        (lambda: ff.compare("cable", schemes="slow-strat+cubic"), ['schemes = "slow-strat+cubic"', 'did you mean "slow-start"?']),
        (lambda: ff.compare("cable", sizes=["30"]), ['sizes = "30": the unit is missing; expected sizes such as']),
        (lambda: ff.compare("cable", sizes=["0 B"]), ["zero bytes"]),
        (lambda: ff.compare("cable", rate="40 mbps"), ['rate = "40 mbps"', 'write "40 Mbit/s"']),
        (lambda: ff.compare("cable", profile="linx"), ['profile = "linx"', 'did you mean "linux"?']),
        (lambda: ff.compare("cable", replications=0), ["replications = 0", "from 1 to 100000"]),
        (lambda: ff.compare("cable", memory="0 B"), ['memory = "0 B": zero']),
        (lambda: ff.compare("cable", max_harm=-1.0), ["max_harm = -1: not a ratio above zero"]),
        (lambda: ff.compare("cable", max_loss="101%"), ['max_loss = "101%": not a share']),
        (lambda: ff.compare(), ["no path is given", "firstflight.presets()"]),
        (lambda: ff.compare(rate="1 Mbit/s", rtt="1 ms"), ["buffer: missing"]),
        (lambda: ff.compare(ff.Scenario(**MINIMAL), rtt="9 ms"), ["rtt", "the scenario already defines the path"]),
        (lambda: ff.preset("cabel"), ['there is no path preset "cabel"', 'did you mean "cable"?']),
        (lambda: ff.run(ff.preset("cable")), ["no traffic to run", "compare() needs none"]),
        (lambda: ff.run(ff.Scenario(**MINIMAL, flow=[{"size": "1 KB"}]), grid="0 s"), ['grid = "0 s": zero']),
        (
            lambda: ff.run(ff.Scenario(**MINIMAL, flow=[{"size": "1 KB"}] * 3), schemes=["bbr", "bbr"]),
            ["schemes: 2 schemes for 3 flow groups"],
        ),
        (lambda: ff.Scenario("path.rate = 3"), ["scenario:1:13: path.rate"]),
        (lambda: ff.Scenario(), ["no source and no keys"]),
        (lambda: ff.Scenario("cable").replace({"path.rats": "1 Mbit/s"}), ['did you mean "rate"?']),
        (lambda: ff.sweep({"path.rate": ["1"]}, base="cable"), ["cable: at 1: path.rate", "the unit is missing"]),
        (lambda: ff.sweep({"path.rate": []}, base="cable"), ["path.rate: no value"]),
        (lambda: ff.infer("/etc/passwd"), ["/etc/passwd"]),
    ],
)
def test_bad_input_is_one_line(call: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(ff.Error) as raised:
        call()
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def test_the_exception_is_a_value_error() -> None:
    assert issubclass(ff.Error, ValueError)
    assert ff.Error.__module__ == "firstflight"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.toml: there is no such file"):
        ff.Scenario(tmp_path / "none.toml")
    with pytest.raises(ff.Error, match="no file and no path preset"):
        ff.compare(tmp_path / "none.pcap")


WRONG: Any = object()
FLOW: dict[str, Any] = {**MINIMAL, "flow": [{"size": "1 KB"}]}


@pytest.mark.parametrize(
    ("call", "start"),
    [
        (lambda: ff.compare(WRONG), "input: a value of type object; expected a Scenario"),
        (lambda: ff.compare([]), "input: an empty list; expected at least one capture"),
        (lambda: ff.compare("cable", schemes=WRONG), "schemes: a value of type object; expected a chain"),
        (lambda: ff.compare("cable", schemes=[3]), "schemes: a value of type int"),  # pyright: ignore
        (lambda: ff.compare("cable", startups=WRONG), "startups: a value of type object"),
        (lambda: ff.compare("cable", avoidance=WRONG), "avoidance: a value of type object"),
        (lambda: ff.compare("cable", sizes=WRONG), "sizes: a value of type object; expected a size such as"),
        (lambda: ff.compare("cable", sizes=-1), "sizes = -1: negative; expected a size such as"),
        (lambda: ff.compare("cable", sizes=True), "sizes: a value of type bool"),
        (lambda: ff.compare("cable", rate=float("nan")), "rate = NaN: not a finite number; expected a rate"),
        (lambda: ff.compare("cable", rate=10**400), "rate: a value of type int; expected a rate"),
        (lambda: ff.compare("cable", rtt=WRONG), "rtt: a value of type object; expected a time"),
        (lambda: ff.compare("cable", buffer=60), "buffer: a value of type int; expected a text such as \"500 packets\""),  # pyright: ignore
        (lambda: ff.compare("cable", loss=WRONG), "loss: a value of type object; expected a share"),
        (lambda: ff.compare("cable", max_harm="a"), "max_harm: a value of type str; expected a number such as 1.1"),  # pyright: ignore
        (lambda: ff.compare("cable", max_loss=WRONG), "max_loss: a value of type object"),
        (lambda: ff.compare("cable", fastest=WRONG), "fastest: a value of type object; expected True or False"),
        (lambda: ff.compare("cable", profile=WRONG), "profile: a value of type object; expected a text"),
        (lambda: ff.compare("cable", replications="5"), "replications: a value of type str; expected a whole number"),  # pyright: ignore
        (lambda: ff.compare("cable", replications=-1), "replications = -1: out of range; expected a whole number"),
        (lambda: ff.compare("cable", seed=2**64), "seed = 18446744073709551616: out of range"),
        (lambda: ff.compare("cable", seed=1.5), "seed: a value of type float"),  # pyright: ignore
        (lambda: ff.compare("cable", bpf=WRONG), "bpf: a value of type object; expected a path"),
        (lambda: ff.run(WRONG), "scenario: a value of type object; expected a text in TOML"),
        (lambda: ff.run(ff.Scenario(**FLOW), grid=WRONG), "grid: a value of type object; expected a time"),
        (lambda: ff.run(ff.Scenario(**FLOW), trace=WRONG), "trace: a value of type object"),
        (lambda: ff.Scenario(WRONG), "scenario: a value of type object"),
        (lambda: ff.Scenario(path={"rate": WRONG}), "rate: a value of type object; expected a text such as"),
        (lambda: ff.Scenario(path={"rate": -1.0}), "path.rate = -1.0: negative; expected a rate"),
        (lambda: ff.Scenario(path={3: 4}), "a value of type int; expected a text as the name of a key"),
        (lambda: ff.Scenario(seed=2**80), "seed: a number above 9223372036854775807"),
        (lambda: ff.preset("cable").replace(WRONG), "keys: a value of type object; expected a mapping"),
        (lambda: ff.sweep(WRONG, base="cable"), "factors: a value of type object; expected a mapping"),
        (lambda: ff.sweep({(): [()]}, base="cable"), "factors: (); expected a key, or a tuple of different keys"),
        (
            lambda: ff.sweep({("path.rate", "path.rtt"): ["1 Mbit/s"]}, base="cable"),
            "path.rate, path.rtt: 1 values at a point; expected 2",
        ),
        (lambda: ff.sweep({"path.rate": "1 Mbit/s"}, base="cable"), "path.rate: a value of type str; expected a list"),
        (lambda: ff.sweep({"path.rate": WRONG}, base="cable"), "path.rate: a value of type object; expected a list"),
    ],
)
def test_a_value_of_another_type_is_an_error_with_the_keyword(call: Callable[[], object], start: str) -> None:
    with pytest.raises(ff.Error) as raised:
        call()
    assert str(raised.value).startswith(start)


def test_the_profiles_are_those_of_the_program() -> None:
    for profile in ff.profiles():
        assert ff.compare("cable", schemes="slow-start+cubic", sizes="1KB", profile=profile, replications=1, harm=False)
    with pytest.raises(ff.Error) as raised:
        ff.compare("cable", profile="none-of-them")
    assert "linux" in ff.profiles() and all(profile in str(raised.value) for profile in ff.profiles())
