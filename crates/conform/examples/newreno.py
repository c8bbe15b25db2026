"""A controller for `firstflight conform --stack`: NewReno by RFC 9002 appendix B, in the controller protocol of docs/conform.md.

    firstflight conform hystart++ --stack 'python3 crates/conform/examples/newreno.py'
"""

import json
import sys


class NewReno:
    """Slow start, and a segment a round trip after a loss."""

    name = "NewReno of RFC 9002"

    def __init__(self, mss, initial_window):
        """Sizes in bytes."""
        self.mss = mss
        self.cwnd = initial_window
        self.ssthresh = None
        self.recovery_us = -1.0
        self.credit = 0

    def on_sent(self, line):
        """Packets left; this controller does not ask."""

    def on_ack(self, line):
        """Losses first, then deliveries; times in microseconds."""
        newest_lost = max((sent for _, _, sent in line["lost"]), default=-1.0)
        if newest_lost > self.recovery_us:
            self.recovery_us = line["at_us"]
            self.ssthresh = self.cwnd = max(self.cwnd // 2, 2 * self.mss)
            self.credit = 0
        if line["persistent_congestion"]:
            self.cwnd = 2 * self.mss
        if line["app_limited"]:
            return
        for _, size, sent in line["acked"]:
            if sent <= self.recovery_us:
                continue
            if self.ssthresh is None or self.cwnd < self.ssthresh:
                self.cwnd += size
                continue
            self.credit += size
            if self.credit >= self.cwnd:
                self.credit -= self.cwnd
                self.cwnd += self.mss

    def answer(self):
        """The window, and whether the start-up is over."""
        return {"cwnd": self.cwnd, "over": self.ssthresh is not None}


def serve(make):
    """Answers each line of standard input with the controller that `make` returns for a segment size and an initial window."""
    controller = None
    for text in sys.stdin:
        line = json.loads(text)
        if line["do"] == "start":
            controller = make(line["mss"], line["initial_window"])
            said = {"protocol": 1, "name": controller.name}
        else:
            {"sent": controller.on_sent, "ack": controller.on_ack}[line["do"]](line)
            said = {}
        print(json.dumps({**controller.answer(), **said}), flush=True)


if __name__ == "__main__":
    serve(NewReno)
