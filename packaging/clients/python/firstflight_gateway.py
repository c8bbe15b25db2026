# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts for transfers whose size is known, from a running Firstflight gateway. Linux, standard library only.

    import firstflight_gateway

    body = path.read_bytes()
    firstflight_gateway.start(connection, len(head) + len(body))
    connection.sendall(head + body)
"""

import errno
import http.client
import json
import socket
import struct

SOCKET = "/run/firstflight/gateway.sock"
# Option of setsockopt at the level of TCP that has the plan of a socket applied, and SO_COOKIE of Linux.
_TRANSFER = 0x4646
_SO_COOKIE = 57

_REASONS = {
    errno.EBUSY: "data that was written before is still on its way",
    errno.EACCES: "the kernel's program uses no plans at present",
    errno.ENODATA: "the plan is not for this connection",
    errno.ETIME: "the plan has expired",
    errno.ECANCELED: "the connection is held out, to measure the effect of the plans",
    errno.ENOPROTOOPT: "the socket is not in the cgroup of the gateway",
}


class Refused(Exception):
    """The gateway refused the request; the text is its reason."""


class _Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("gateway", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def plan(destination, bytes, *, mss=1448, start="optimal", cookie=None, gateway=SOCKET, timeout=1.0):
    """Start for a transfer of `bytes` to the address `destination`, as a dict.

    The key `start` is "planned" or "stock". A planned one has `window_segments`, `ssthresh_segments` (or None) and
    `pacing_bytes_per_s`; a stock one has `reason`. `start` is "optimal" (ends soonest) or "shifted" (the smallest window
    with as few round trips). With the `cookie` of a socket the plan waits for that socket, if `waits_for_socket` is true.

    Raises OSError if no gateway answers within `timeout` seconds, and Refused with the gateway's reason.
    """
    request = {"destination": destination, "bytes": bytes, "mss": mss, "start": start}
    if cookie is not None:
        request["cookie"] = cookie
    connection = _Unix(gateway, timeout)
    try:
        connection.request("POST", "/v1/plan", json.dumps(request), {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
    except http.client.HTTPException as error:
        raise OSError(f"{gateway}: {error!r}") from error
    finally:
        connection.close()
    if response.status != 200:
        try:
            raise Refused(json.loads(text)["error"])
        except (ValueError, KeyError, TypeError):
            raise Refused(text.strip() or f"status {response.status}") from None
    return json.loads(text)


def start(connection, bytes, *, start="optimal", gateway=SOCKET, timeout=1.0):
    """Starts a transfer of `bytes` that is about to be written to the connected TCP socket `connection`.

    Call it when nothing that was written before is still on its way, and before the first byte of the transfer: on a new
    connection or after an idle time. Returns the answer of `plan`. If the plan was not applied, the answer's `start` is
    "stock" and `reason` says why; the transfer then starts as the stack starts it. Errors are those of `plan`.
    """
    destination = connection.getpeername()[0]
    (cookie,) = struct.unpack("=Q", connection.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8))
    mss = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    # A scope as in fe80::1%eth0 is no part of the address.
    destination = destination.split("%", 1)[0]
    answer = plan(
        destination, bytes, mss=mss, start=start, cookie=cookie, gateway=gateway, timeout=timeout
    )
    if not answer.get("waits_for_socket"):
        reason = answer.get("reason") or answer.get("why_not_applied")
        return {**answer, "start": "stock", "reason": reason}
    try:
        connection.setsockopt(socket.IPPROTO_TCP, _TRANSFER, 1)
    except OSError as error:
        return {**answer, "start": "stock", "reason": _REASONS.get(error.errno, str(error))}
    return answer
