#!/usr/bin/env bash
# nginx begins an HTTP/3 connection with a congestion window of 131,054 bytes, nine times what RFC 9002 recommends: the first response to a
# new client leaves as a burst of about 95 datagrams, without pacing. The RFC's formula is there, min(10 d, max(2 d, 14720)), but d is not
# the datagram that nginx sends: it is the client's limit max_udp_payload_size, taken before the client's parameters have arrived, when it
# still has its default of 65,527. A client that says 1,472 gets the same burst.
# Cause: ngx_quic_new_connection() in src/event/quic/ngx_event_quic.c of 1.26; a later release has 1,200 bytes in the place of the limit.
# (http3_stream_buffer_size, 64 KB by default, would be the smaller limit of one response; it is raised here to show the window.)
# Versions: nginx 1.26.3-3+deb13u10 of Debian trixie, aioquic 1.7.2 as client. Control: a response of 8,000 bytes is counted as such.
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

unpack trixie nginx=1.26.3-3+deb13u10
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
import functools
import sys

import aioquic.quic.connection as connection
from client import responses

if sys.argv[1] != "absent":
    parameters = functools.partial(connection.QuicTransportParameters, max_udp_payload_size=int(sys.argv[1]))
    connection.QuicTransportParameters = parameters
ROUND_TRIP = 0.4


def flight(path):
    """Bytes of the body, and the sizes of all that the server sends before an acknowledgement can reach it."""
    ((received, _, datagrams),) = asyncio.run(responses(8443, ROUND_TRIP, path))
    burst = [(at, size) for at, size in datagrams if at < 0.7 * ROUND_TRIP]
    last = max(at for at, size in burst if size > 1000)
    total = sum(size for _, size in burst)
    print(f"{path}, body {received}: {len(burst)} datagrams, {total} bytes, within {last * 1000:.0f} ms")
    return received, total


print("max_udp_payload_size:", sys.argv[1])
if (control := flight("/small"))[0] != 8_000 or control[1] not in range(8_000, 12_000):
    sys.exit("the control has changed")
if (large := flight("/large"))[0] != 1_000_000 or large[1] not in range(125_000, 142_000):
    sys.exit("the behaviour has changed")
PYTHON
cat > "$work/nginx.conf" <<NGINX
daemon off;
master_process off;
user root;
pid $work/pid;
error_log stderr error;
events {}
http {
    access_log off;
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    server {
        listen 127.0.0.1:8443 quic;
        ssl_certificate $work/certificate.pem;
        ssl_certificate_key $work/key.pem;
        http3_stream_buffer_size 2m;
        root $work/www;
    }
}
NGINX
mkdir "$work/www"
head -c 8000 /dev/zero > "$work/www/small"
head -c 1000000 /dev/zero > "$work/www/large"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2> /dev/null
version=$("${run[@]}" "$work/root/usr/sbin/nginx" -v 2>&1)
echo "$version"
[ "$version" = "nginx version: nginx/1.26.3" ]
# A loopback device of its own with the MTU of Ethernet.
export work
unshare --user --map-root-user --net --pid --fork --kill-child bash -euc '
    ip link set lo mtu 1500 up
    "$@" -p "$work" -c "$work/nginx.conf" &
    sleep 1
    for size in absent 1472; do "$work/venv/bin/python" "$work/measure.py" "$size"; done
' -- "${run[@]}" "$work/root/usr/sbin/nginx"
echo "as described: nginx sends 131,054 bytes before the first acknowledgement"
