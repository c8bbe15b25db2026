#!/usr/bin/env bash
# aioquic's window grows with every acknowledgement, used or not: 100 answers of one packet each, one a round trip, leave a window of more than
# 115,000 bytes that never carried more than one packet. The next long response sends them in its first round trip into a path of
# which nothing was measured. RFC 9002, section 7.8: a window that is not utilised should not be increased in slow start or later.
# A test that asks small things first, as browsers do, sees a server with another initial window than one that begins with the file.
# Cause: RenoCongestionControl.on_packet_acked() in aioquic/quic/congestion/reno.py looks at no bytes in flight (cubic.py neither).
# Versions: aioquic 1.7.2, reno, its default. Control: the same response as the first one of a connection.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check aioquic==1.7.2
cd "$work"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout key.pem -out certificate.pem 2> /dev/null
cat > path.py <<'PYTHON'
import heapq
import ssl

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived

ADDRESS = ("192.0.2.1", 443)


class Path:
    """A client and a server of aioquic across a path of unlimited rate, in virtual time: the library reads no clock."""

    def __init__(self, round_trip, controller):
        self.delay, self.now, self.packets, self.count, self.sent = round_trip / 2, 0.0, [], 0, []
        common = {"alpn_protocols": ["path"], "congestion_control_algorithm": controller, "idle_timeout": 600.0}
        common |= {"max_data": 1 << 26, "max_stream_data": 1 << 26}
        self.client = QuicConnection(configuration=QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE, **common))
        self.settings, self.server, self.answers = QuicConfiguration(is_client=False, **common), None, {}
        self.settings.load_cert_chain("certificate.pem", "key.pem")
        self.client.connect(ADDRESS, now=0.0)
        self.run(lambda: False, until=3 * round_trip)

    def request(self, size):
        """Seconds of a response of `size` bytes, and the times and sizes of the server's datagrams."""
        stream, start = self.client.get_next_available_stream_id(), self.now
        self.answers[stream], self.received, self.sent = size, 0, []
        self.client.send_stream_data(stream, b"request", True)
        self.run(lambda: self.received == size, until=start + 600)
        return self.now - start, self.sent

    def run(self, finished, until):
        while True:
            self.exchange()
            if finished():
                return
            timers = [end.get_timer() for end in (self.client, self.server) if end is not None]
            times = [time for time in timers if time is not None] + [packet[0] for packet in self.packets[:1]]
            if min(times, default=until) >= until:
                self.now = until
                return
            self.now = max(self.now, min(times))

    def exchange(self):
        while self.packets and self.packets[0][0] <= self.now:
            _, _, to_server, data = heapq.heappop(self.packets)
            if to_server and self.server is None:
                identifier = self.client.original_destination_connection_id
                self.server = QuicConnection(configuration=self.settings, original_destination_connection_id=identifier)
            (self.server if to_server else self.client).receive_datagram(data, ADDRESS, now=self.now)
        for end in (self.client, self.server):
            if end is None:
                continue
            if end.get_timer() is not None and end.get_timer() <= self.now:
                end.handle_timer(now=self.now)
            while (event := end.next_event()) is not None:
                if not isinstance(event, StreamDataReceived):
                    continue
                if end is self.client:
                    self.received += len(event.data)
                elif event.end_stream:
                    end.send_stream_data(event.stream_id, bytes(self.answers[event.stream_id]), True)
            for data, _ in end.datagrams_to_send(now=self.now):
                self.count += 1
                heapq.heappush(self.packets, (self.now + self.delay, self.count, end is self.client, data))
                if end is self.server:
                    self.sent.append((self.now, len(data)))
PYTHON
venv/bin/python - <<'PYTHON'
import importlib.metadata
import sys

from path import Path

print("aioquic", importlib.metadata.version("aioquic"))


def first_round_trip(path):
    """Bytes of a response of 300,000 bytes that leave before its first acknowledgement can come."""
    _, sent = path.request(300_000)
    full = [(time, size) for time, size in sent if size > 1000]
    return sum(size for time, size in full if time < full[0][0] + 0.199)


new = first_round_trip(Path(0.2, "reno"))
used = Path(0.2, "reno")
for _ in range(100):
    seconds, _ = used.request(1000)
    if round(seconds, 3) > 0.203:
        sys.exit("the control has changed: an answer of one packet does not take one round trip")
later = first_round_trip(used)
print(f"first round trip of a response of 300,000 bytes: {new} bytes on a new connection, {later} after 100 answers of one packet")
if not 10_000 <= new <= 17_000:
    sys.exit("the control has changed")
if later < 100_000:
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: 100 answers of one packet opened the window for 100 packets"
