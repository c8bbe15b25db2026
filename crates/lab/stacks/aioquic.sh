PATH=$STACKS/bin:$PATH
python=$(command -v aioquic-python || command -v python3) || exit 127
"$python" -c 'import aioquic' 2> /dev/null || exit 127
[ "$1" = version ] && exec "$python" -c 'import importlib.metadata as m; print("aioquic", m.version("aioquic"))'
cat > "$WORK/server.py" <<'PYTHON'
import asyncio
import pathlib
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration


class Server(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event):
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived):
                path = dict(part.headers)[b":path"].decode().lstrip("/")
                body = (pathlib.Path(sys.argv[5]) / path).read_bytes()
                fields = [(b":status", b"200"), (b"content-length", str(len(body)).encode())]
                self.http.send_headers(part.stream_id, fields)
                self.http.send_data(part.stream_id, body, True)
                self.transmit()


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(sys.argv[3], sys.argv[4])
    await serve(sys.argv[1], int(sys.argv[2]), configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


asyncio.run(main())
PYTHON
exec "$python" "$WORK/server.py" "$ADDRESS" "$PORT" "$CERTIFICATE" "$KEY" "$FILES"
