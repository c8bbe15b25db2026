"""aioquic's controller for `firstflight conform --stack`: needs the package aioquic (1.7.2).

    firstflight conform hystart-aioquic --vectors vectors --stack 'python3 crates/conform/examples/aioquic_reno.py'
"""

from types import SimpleNamespace

from aioquic import __version__
from aioquic.quic.congestion.base import create_congestion_control
from aioquic.quic.congestion import reno  # noqa: F401  registers "reno"

from newreno import serve


class AioquicReno:
    """The calls of aioquic's recovery: an RTT sample, then losses, then each delivered packet."""

    name = f"aioquic {__version__}, reno"

    def __init__(self, mss, initial_window):
        """aioquic begins with ten datagrams."""
        self.control = create_congestion_control("reno", max_datagram_size=mss)

    @staticmethod
    def packets(line, key):
        """Packets as aioquic has them; times in seconds."""
        return [SimpleNamespace(sent_bytes=size, sent_time=sent / 1e6) for _, size, sent in line[key]]

    def on_sent(self, line):
        """Packets left."""
        for packet in self.packets(line, "packets"):
            self.control.on_packet_sent(packet=packet)

    def on_ack(self, line):
        """One acknowledgement."""
        now = line["at_us"] / 1e6
        if line["rtt_us"] is not None:
            self.control.on_rtt_measurement(now=now, rtt=line["rtt_us"] / 1e6)
        if line["lost"]:
            self.control.on_packets_lost(now=now, packets=self.packets(line, "lost"))
        for packet in self.packets(line, "acked"):
            self.control.on_packet_acked(now=now, packet=packet)

    def answer(self):
        """The window, and whether the start-up is over."""
        return {"cwnd": self.control.congestion_window, "over": self.control.ssthresh is not None}


if __name__ == "__main__":
    serve(AioquicReno)
