"""Cost of a scheme in Python for each ACK: the time of a run with it, less that of a run with the same built-in scheme."""

import time

import firstflight as ff

# No packet is lost, so that slow start lasts for the whole transfer and answers every ACK.
SCENARIO = ff.Scenario(
    path={"rate": "100 Mbit/s", "rtt": "20 ms", "buffer": "100000 packets"},
    flow=[{"size": "60 MB", "receive_window": "unlimited"}],
)
ROUNDS = 7


class Python:
    """Slow start."""

    label = "python-slow-start"
    acks = 0

    def on_ack(self, ack: ff.Ack, control: ff.Control) -> str | None:
        if ack.recovery:
            return None
        control.cwnd += ack.growth
        return "threshold" if control.cwnd >= control.ssthresh else None

    def on_congestion(self, event: ff.Congestion, control: ff.Control) -> str | None:
        return event.trigger


class Counting(Python):
    """The same, which counts."""

    label = "counting"

    def on_ack(self, ack: ff.Ack, control: ff.Control) -> str | None:
        Python.acks += 1
        return super().on_ack(ack, control)


def least_time(scheme: object) -> float:
    """Least time of several runs, seconds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        ff.run(SCENARIO, schemes=scheme, avoidance="reno", progress=False)  # type: ignore[arg-type]
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    ff.run(SCENARIO, schemes=Counting, avoidance="reno")
    own, built_in = least_time(Python), least_time("slow-start+reno")
    print(f"{Python.acks} ACKs: {own:.3f} s in Python, {built_in:.4f} s built in")
    print(f"{(own - built_in) / Python.acks * 1e6:.2f} us for each ACK")


if __name__ == "__main__":
    main()
