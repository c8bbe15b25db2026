"""Long work shows its progress, leaves other threads alone, and ends with an interrupt."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

import firstflight as ff
from programs import OWN_SCHEME

FLOW = {"size": "3 MB"}
SCENARIO = ff.Scenario("lte", flow=[FLOW])

# Runs that take far longer than the test waits for the interrupted process: many short ones, one that is long, and a scheme in
# Python.
ENDLESS = {
    "runs": 'ff.run(ff.Scenario("lte", flow=[{"size": "30 MB"}]), replications=100000)',
    "run": 'ff.run(ff.Scenario("data-centre", duration="100000 s", flow=[{"size": "unlimited"}]), memory="64 GB")',
    "comparison": 'ff.compare("lte", sizes=["100 MB"], replications=100000, memory="64 GB")',
    "sweep": 'ff.sweep({"path.loss": [i / 1e6 for i in range(1000)]}, base="lte", sizes=["100 MB"], replications=100)',
    "scheme": 'ff.run(ff.Scenario("lte", flow=[{"size": "3 MB"}]), schemes=Own, replications=100000)',
}

PROGRAM = OWN_SCHEME + """
first = True
def shown(what, done, total):
    global first
    if first and total and what:
        first = False
        print("begun", flush=True)

try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("work", ENDLESS)
def test_an_interrupt_ends_the_work(work: str) -> None:
    call = ENDLESS[work][:-1] + ", progress=shown)"
    program = PROGRAM.replace("{call}", call)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        # No measure of speed: without the interrupt the work lasts for hours.
        assert process.communicate(timeout=120)[0] == "interrupted\n"
        assert process.returncode == 0
    finally:
        process.kill()


class Enough(Exception):
    """The test has seen what it waits for."""


def run_until(seen: Callable[[str, int, int], bool]) -> None:
    """Runs for minutes, but ends as soon as a report of progress is as wanted."""

    def shown(what: str, done: int, total: int) -> None:
        if seen(what, done, total):
            raise Enough

    with pytest.raises(Enough):
        ff.run(SCENARIO, replications=100_000, memory="64 GB", progress=shown)


def test_other_threads_go_on_during_a_run() -> None:
    turns, over = 0, threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1

    before: list[int] = []

    def counted(what: str, done: int, total: int) -> bool:
        before.append(turns)
        return before[-1] > before[0]

    other = threading.Thread(target=count)
    other.start()
    try:
        run_until(counted)
    finally:
        over.set()
        other.join()


def test_progress_counts_the_runs() -> None:
    steps: list[tuple[str, int, int]] = []

    def counted(what: str, done: int, total: int) -> bool:
        steps.append((what, done, total))
        return done > 100

    run_until(counted)
    known = [(done, total) for _, done, total in steps if total]
    assert known == sorted(known) and {total for _, total in known} == {100_000}


def test_an_exception_of_the_progress_ends_the_work() -> None:
    def fails(what: str, done: int, total: int) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        ff.run(SCENARIO, replications=100_000, memory="64 GB", progress=fails)


def test_the_bar_is_silent_without_a_terminal() -> None:
    program = 'import firstflight as ff; ff.run(ff.Scenario("lte", path={"loss": "1%"}, flow=[{"size": "3 MB"}]), replications=100)'
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


def test_calls_in_several_threads_do_not_disturb_each_other() -> None:
    expected = ff.run(SCENARIO, seed=3).flows.to_dicts()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(ff.run(SCENARIO, seed=3).flows.to_dicts())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
