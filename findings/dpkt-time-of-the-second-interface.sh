#!/usr/bin/env bash
# dpkt reads a pcapng file with the time resolution of its first interface alone. A capture of two interfaces, microseconds on the first and
# nanoseconds on the second (a host's capture merged with a network card's), is read without an error, and every packet of the second
# interface lies 1000 times too late: year 55840 instead of 2023. Round trips between the two interfaces are then meaningless.
# Cause: dpkt.pcapng.Reader keeps one divisor, of the first interface description block, and never looks at a packet's interface number.
# Versions: dpkt 1.9.8. Control: the same packets with one resolution on both interfaces.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check dpkt==1.9.8
"$work/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import io
import struct
import sys

import dpkt

START = 1_700_000_000  # seconds
FRAME = bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(46)


def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def interface(resolution):
    option = struct.pack("<HHB3xHH", 9, 1, resolution, 0, 0)  # if_tsresol, end of options
    return block(1, struct.pack("<HHI", 1, 0, 262144) + option)


def packet(number, ticks):
    fixed = struct.pack("<IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME))
    return block(6, fixed + FRAME + bytes(-len(FRAME) % 4))


def times(resolution):
    """Times that dpkt reads: a packet at START on the first interface, one 10 ms later on the second."""
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    second = START * 10**resolution + 10 ** (resolution - 2)
    capture = section + interface(6) + interface(resolution) + packet(0, START * 10**6) + packet(1, second)
    return [round(time, 3) for time, _ in dpkt.pcapng.Reader(io.BytesIO(capture))]


version = importlib.metadata.version("dpkt")
print("dpkt", version)
both_micro, mixed = times(6), times(9)
print("microseconds on both interfaces:     ", both_micro)
print("nanoseconds on the second interface: ", mixed)
if version != "1.9.8" or both_micro != [1_700_000_000.0, 1_700_000_000.01]:
    sys.exit("the control has changed")
if mixed[0] != 1_700_000_000.0 or round(mixed[1]) != 1_700_000_000_010:
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: the second interface is read 1000 times too late"
