#!/usr/bin/env bash
# pypcapfile reads a capture of a big-endian machine (tcpdump on a MIPS or PowerPC router) as a capture of NO packets, without an error: its
# header is accepted, printed as big-endian, and the list of packets is empty. A script over the captures of many places counts zero
# connections there. The same packets in little-endian order are read.
# Cause: _read_a_packet() in pcapfile/savefile.py compares the byte order, of type bytes in Python 3, with the string 'big', so that the
# length of the first packet is read in the wrong order and the file seems to end.
# Versions: pypcapfile 0.12.0. Control: the same two packets, little-endian.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pypcapfile==0.12.0
cd "$work"
venv/bin/python - <<'PYTHON'
import importlib.metadata
import struct
import sys

from pcapfile import savefile

print("pypcapfile", importlib.metadata.version("pypcapfile"))
frame = bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(46)
counts = {}
for name, order in (("little", "<"), ("big", ">")):
    with open(name, "wb") as file:
        file.write(struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for microseconds in (0, 100_000):
            file.write(struct.pack(order + "IIII", 1_700_000_000, microseconds, len(frame), len(frame)) + frame)
    with open(name, "rb") as file:
        capture = savefile.load_savefile(file)
    counts[name] = len(capture.packets)
    print(f"{name}-endian: byte order {capture.header.byteorder}, {counts[name]} packets")
if counts["little"] != 2:
    sys.exit("the control has changed")
if counts["big"] != 0:
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: the big-endian capture has no packets"
