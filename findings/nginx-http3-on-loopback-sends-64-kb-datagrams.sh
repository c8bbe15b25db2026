#!/usr/bin/env bash
# An HTTP/3 test of nginx on the loopback device measures no packets: nginx's discovery of the path's MTU goes as far as the device, whose MTU is
# 65,536, and within a few round trips the response travels in datagrams of 65,500 bytes, two for each window. Loss of every hundredth
# datagram, pacing, and a capture's "packets" then mean another thing than on a network, and the same server on the same machine with a
# device of 1,500 sends 1,471. Most stacks stop at 1,452 or 1,472; nginx has no directive that limits it.
# Cause: ngx_quic_discover_path_mtu() in src/event/quic/ngx_event_quic_migration.c doubles the probe up to the client's limit
# max_udp_payload_size, 65,527 if absent.
# Versions: nginx 1.26.3-3+deb13u10 of Debian trixie, aioquic 1.7.2 as client. Control: the same device with an MTU of 1,500.
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
import sys

from client import responses

ROUND_TRIP = 0.2
((received, _, datagrams),) = asyncio.run(responses(8443, ROUND_TRIP, "/file"))
sizes = sorted(size for _, size in datagrams)
print(f"MTU {sys.argv[1]}: body {received} in {len(sizes)} datagrams, the largest {sizes[-5:]}")
if received != 4_000_000 or (sys.argv[1] == "1500" and not 1400 <= sizes[-1] <= 1472):
    sys.exit("the control has changed")
if sys.argv[1] == "65536" and not 60_000 <= sizes[-5] <= 65_527:
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
        root $work/www;
    }
}
NGINX
mkdir "$work/www"
head -c 4000000 /dev/zero > "$work/www/file"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2> /dev/null
version=$("${run[@]}" "$work/root/usr/sbin/nginx" -v 2>&1)
echo "$version"
[ "$version" = "nginx version: nginx/1.26.3" ]
# Loopback devices of namespaces of their own.
export work
for mtu in 1500 65536; do
    unshare --user --map-root-user --net --pid --fork --kill-child bash -euc '
        ip link set lo mtu "$1" up
        "${@:2}" -p "$work" -c "$work/nginx.conf" &
        sleep 1
        "$work/venv/bin/python" "$work/measure.py" "$1"
    ' -- "$mtu" "${run[@]}" "$work/root/usr/sbin/nginx"
done
echo "as described: datagrams of 65,500 bytes on loopback"
