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


def test_another_type_is_a_type_error() -> None:
    wrong: Any = 3
    for call in [
        lambda: ff.compare(wrong),
        lambda: ff.compare("cable", schemes=wrong),
        lambda: ff.Scenario(wrong),
        lambda: ff.Scenario(path={"rate": object()}),
    ]:
        with pytest.raises(TypeError, match="expected"):
            call()
