#!/usr/bin/env bash
# HAProxy's HyStart++ leaves slow start in the second or third round trip of a path without any queue. With `tune.quic.cc-hystart on`
# 1 MB takes 6.9 s at 400 ms and without a bottleneck, and 3.7 s with the default, off: the option that shall keep slow start from overshooting ends it
# at 22 to 56 KB. A measurement of the start sees a stack that hardly has one.
# Cause: quic_cc_hystart_may_enter_cs() in include/haproxy/quic_cc_hystart.h compares "currentRoundMinRTT + RttThresh >= lastRoundMinRTT", where RFC
# 9406, section 4.2, has "currentRoundMinRTT >= lastRoundMinRTT + RttThresh": the round-trip time need not rise, and may even fall by the
# threshold. The minimum of a round is never set back, so that the careful phase is not left either. Releases 3.0 to 3.4 have that line.
# Versions: haproxy 3.0.11-1+deb13u4 of Debian trixie, aioquic 1.7.2 as client. Control: the same transfer with the option off.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Unpacks packages of a release of Debian and all that they depend on into $work/root. Nothing is installed.
unpack() {
    local apt=$work/apt archive package
    archive=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' 'Created-By: Packages' |
        awk '$2 == "Debian" && $1 !~ /security/ { print $1; exit }')
    mkdir -p "$apt"/{lists,archives}/partial "$work"/root/usr/{bin,sbin,lib,lib64}
    : > "$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $1 main" > "$apt/sources.list"
    local get=(apt-get -qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State="$apt"
        -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" -o APT::Sandbox::User="$(id -un)"
        -o Debug::NoLocking=true)
    "${get[@]}" update
    "${get[@]}" install --download-only --yes --no-install-recommends "${@:2}"
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$work/root/$name"; done
    for package in "$apt"/archives/*.deb; do
        dpkg --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --no-same-owner --directory "$work/root"
    done
}

# The command line that runs a program with the unpacked libraries.
run=("$work/root/lib64/ld-linux-x86-64.so.2" --library-path "$work/root/usr/lib/x86_64-linux-gnu")

unpack trixie haproxy=3.0.11-1+deb13u4
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check aioquic==1.7.2
# An HTTP/3 client behind a relay that delays each direction by half a round trip and notes the server's datagrams.
cat > "$work/client.py" <<'PYTHON'
import asyncio
import ssl
import time

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration


class Relay(asyncio.DatagramProtocol):
    """One side of the relay; `other` is the side that sends what this one receives."""

    def __init__(self, delay, note=None):
        self.delay, self.note, self.peer, self.other = delay, note, None, None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.peer = address
        if self.note is not None:
            self.note.append((time.monotonic(), len(data)))
        asyncio.get_running_loop().call_later(self.delay, self.send, data)

    def send(self, data):
        self.other.transport.sendto(data, self.other.peer)


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http, self.received, self.finished = H3Connection(self._quic), 0, asyncio.Event()

    def get(self, path):
        stream = self._quic.get_next_available_stream_id()
        fields = {":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path}
        self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in fields.items()], True)
        self.transmit()

    def quic_event_received(self, event):
        for part in self.http.handle_event(event):
            self.received += len(part.data) if isinstance(part, DataReceived) else 0
            if isinstance(part, (DataReceived, HeadersReceived)) and part.stream_ended:
                self.finished.set()


async def responses(port, round_trip, path, pauses=(0,)):
    """Rows of responses on one connection, each after a pause: bytes of the body, seconds, and the server's datagrams
    as (seconds since the first one of the response, bytes)."""
    loop, noted, rows = asyncio.get_running_loop(), [], []
    _, front = await loop.create_datagram_endpoint(lambda: Relay(round_trip / 2), local_addr=("127.0.0.1", 0))
    _, back = await loop.create_datagram_endpoint(lambda: Relay(round_trip / 2, noted), local_addr=("127.0.0.1", 0))
    front.other, back.other, back.peer = back, front, ("127.0.0.1", port)
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, max_data=1 << 26, max_stream_data=1 << 26
    )
    address = front.transport.get_extra_info("sockname")
    async with connect(*address, configuration=configuration, create_protocol=Client, local_port=0) as client:
        await asyncio.sleep(3 * round_trip)
        for pause in pauses:
            await asyncio.sleep(pause)
            noted.clear()
            client.received = 0
            client.finished.clear()
            start = time.monotonic()
            client.get(path)
            await asyncio.wait_for(client.finished.wait(), 60)
            row = [sample for sample in noted if sample[0] - start > 0.4 * round_trip]
            rows.append((client.received, time.monotonic() - start, [(at - row[0][0], size) for at, size in row]))
    return rows
PYTHON
cat > "$work/measure.py" <<'PYTHON'
import asyncio
import sys

from client import responses

ROUND_TRIP = 0.4
option = sys.argv[1]
((received, seconds, datagrams),) = asyncio.run(responses(8443, ROUND_TRIP, "/file"))
rounds = {}
for at, size in datagrams:
    rounds[int(at / ROUND_TRIP + 0.1)] = rounds.get(int(at / ROUND_TRIP + 0.1), 0) + size
print(f"cc-hystart {option}: body {received} in {seconds:.2f} s, bytes in each round trip: {list(rounds.values())}")
if received != 1_000_000:
    sys.exit("the control has changed")
if option == "off" and max(rounds.values()) < 250_000:
    sys.exit("the control has changed")
if option == "on" and max(rounds.values()) > 125_000:
    sys.exit("slow start goes on: the behaviour has changed")
PYTHON
cat > "$work/haproxy.cfg" <<HAPROXY
global
    limited-quic
    tune.quic.cc-hystart OPTION
defaults
    mode http
    timeout client 20s
    timeout server 20s
    timeout connect 5s
frontend front
    bind quic4@127.0.0.1:8443 ssl crt $work/both.pem alpn h3
    default_backend back
backend back
    server origin 127.0.0.1:8080
HAPROXY
mkdir "$work/www"
head -c 1000000 /dev/zero > "$work/www/file"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2> /dev/null
cat "$work/certificate.pem" "$work/key.pem" > "$work/both.pem"
version=$("${run[@]}" "$work/root/usr/sbin/haproxy" -v | awk 'NR == 1 { print $3 }')
echo "HAProxy $version"
[ "$version" = 3.0.11-1+deb13u4 ]
for option in off on; do sed "s/OPTION/$option/" "$work/haproxy.cfg" > "$work/$option.cfg"; done
# A loopback device of its own with the MTU of Ethernet.
export work
unshare --user --map-root-user --net --pid --fork --kill-child bash -euc '
    ip link set lo mtu 1500 up
    python3 -m http.server 8080 --bind 127.0.0.1 --directory "$work/www" > /dev/null 2>&1 &
    for option in off on; do
        "$@" -f "$work/$option.cfg" 2> /dev/null &
        sleep 2
        "$work/venv/bin/python" "$work/measure.py" "$option"
        kill $!
        wait $! || true
    done
' -- "${run[@]}" "$work/root/usr/sbin/haproxy"
echo "as described: slow start ends although no queue delays a packet"
