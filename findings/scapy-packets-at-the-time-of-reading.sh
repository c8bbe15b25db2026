#!/usr/bin/env bash
# scapy gives each packet of a pcapng Simple Packet Block the time at which the file is READ. The block has no time stamp by specification;
# tshark then shows no time at all. With scapy the packet has a plausible time, another one in each run, and it looks like any other packet:
# the duration of the capture and every gap beside the packet are the age of the file.
# Cause: scapy.utils.PcapNgReader sets a packet's time if the block had one; otherwise Packet() keeps its default, the present time.
# Versions: scapy 2.8.0. Control: Enhanced Packet Blocks before and after it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check scapy==2.8.0
"$work/venv/bin/python" - <<'PYTHON'
import io
import struct
import sys
import time

import scapy
from scapy.utils import PcapNgReader

START = 1_700_000_000  # seconds, November 2023
FRAME = bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(46)
PADDED = FRAME + bytes(-len(FRAME) % 4)


def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def enhanced(seconds):
    ticks = seconds * 10**6
    return block(6, struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME)) + PADDED)


def read(*packets):
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    capture = section + block(1, struct.pack("<HHI", 1, 0, 262144)) + b"".join(packets)
    return [float(packet.time) for packet in PcapNgReader(io.BytesIO(capture))]


simple = block(3, struct.pack("<I", len(FRAME)) + PADDED)

before = time.time()
times = read(enhanced(START), simple, enhanced(START + 1))
after = time.time()
print("scapy", scapy.VERSION)
print("enhanced, simple, enhanced:", times, "read between", before, "and", after)
if scapy.VERSION != "2.8.0" or [times[0], times[2]] != [START, START + 1]:
    sys.exit("the control has changed")
if not before <= times[1] <= after:
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: a packet without a time stamp has the time of the reading"
