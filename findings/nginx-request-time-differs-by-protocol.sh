#!/usr/bin/env bash
# nginx's $request_time has another end over HTTP/3 than over TCP. Over TCP it ends when the kernel has taken the last byte: a client that begins to
# read only after 2 s is logged with 0.000 s. Over HTTP/3 the same file on a path of 400 ms is logged with more than a second, since nginx itself holds
# what is not acknowledged and lets no more than 64 KB be so. A log that compares the two protocols by this field finds HTTP/3 to be slower by
# whole round trips that TCP has as well, but hides in the kernel.
# Cause: the request ends, and its line is written, when the connection's send_chain() has taken everything: writev() into the socket's
# buffer for TCP, ngx_quic_stream_send_chain() with its limit http3_stream_buffer_size for HTTP/3.
# Versions: nginx 1.26.3-3+deb13u10 of Debian trixie, aioquic 1.7.2 as client. Control: 20,000 bytes are logged with 0.000 s over both.
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
import socket
import sys
import time

from client import responses

PAUSE, ROUND_TRIP = 2, 0.4


def tcp(path):
    """Seconds until a client that reads nothing for two seconds has the whole response."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000_000)
        client.connect(("127.0.0.1", 8080))
        start = time.monotonic()
        client.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        time.sleep(PAUSE)
        while client.recv(1 << 20):
            pass
        return time.monotonic() - start


def http3(path):
    ((_, seconds, _),) = asyncio.run(responses(8443, ROUND_TRIP, path))
    return seconds


for path in ("/small", "/large"):
    for name, get in (("HTTP/1.0 over TCP", tcp), ("HTTP/3", http3)):
        seconds = get(path)
        time.sleep(0.5)
        with open(sys.argv[1]) as log:
            size, logged = log.readlines()[-1].split()
        print(f"{name}, {size} bytes: client {seconds:.2f} s, log {logged} s")
        if path == "/large" and name == "HTTP/3":
            if int(size) != 200_000 or float(logged) < 2 * ROUND_TRIP:
                sys.exit("the behaviour has changed")
        elif float(logged) > 0.2 or int(size) != (20_000 if path == "/small" else 200_000):
            sys.exit("the control has changed")
PYTHON
cat > "$work/nginx.conf" <<NGINX
daemon off;
master_process off;
user root;
pid $work/pid;
error_log stderr error;
events {}
http {
    log_format times '\$body_bytes_sent \$request_time';
    access_log $work/access times;
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    server {
        listen 127.0.0.1:8443 quic;
        listen 127.0.0.1:8080;
        ssl_certificate $work/certificate.pem;
        ssl_certificate_key $work/key.pem;
        root $work/www;
    }
}
NGINX
mkdir "$work/www"
head -c 20000 /dev/zero > "$work/www/small"
head -c 200000 /dev/zero > "$work/www/large"
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
    "$work/venv/bin/python" "$work/measure.py" "$work/access"
' -- "${run[@]}" "$work/root/usr/sbin/nginx"
echo "as described: the log's time ends in the kernel over TCP, with the acknowledgements over HTTP/3"
