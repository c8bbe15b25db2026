#!/usr/bin/env bash
# editcap -d, the usual step against the double packets of a mirror port or of `-i any`, deletes real packets from a sender's capture of QUIC that
# has headers alone: of a flight of 30 datagrams it keeps one. With a snap length of 42 bytes two datagrams of one size are the same bytes: the IP
# identification of a datagram that may not be fragmented may stay 0 (RFC 6864), and with checksum offload the UDP checksum is the sum of
# the pseudo header, the same for all. TCP headers have a sequence number; UDP headers have nothing that differs.
# Cause: editcap.c compares captured length and MD5 of the captured bytes of the packets before; it looks at no time stamp with -d.
# Versions: wireshark-common 4.4.19-0+deb13u1 of Debian trixie. Control: the same datagrams with 100 bytes captured, of which none is deleted.
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

unpack trixie wireshark-common=4.4.19-0+deb13u1
export WIRESHARK_DATA_DIR=$work/root/usr/share/wireshark WIRESHARK_PLUGIN_DIR=$work/none HOME=$work XDG_CONFIG_HOME=$work/none
cat > "$work/make.py" <<'PYTHON'
import random
import struct
import sys

# 30 datagrams of 1,200 bytes with random (encrypted) content, 10 at once and 20 a round trip of 50 ms later, 50 microseconds apart.
captured = int(sys.argv[1])
content = random.Random(1)
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, captured, 1))
    for index in range(30):
        # The checksum that a sender's capture has: the pseudo header alone.
        source, target = bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])
        total = sum(struct.unpack("!4H", source + target)) + 17 + 1208
        udp = struct.pack("!HHHH", 443, 40000, 1208, (total & 0xFFFF) + (total >> 16))
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 1228, 0, 0x4000, 64, 17, 0) + source + target
        frame = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + ip + udp + content.randbytes(1200)
        microseconds = 50 * index + (50_000 if index >= 10 else 0)
        file.write(struct.pack("<IIII", 1_700_000_000, microseconds, captured, len(frame)) + frame[:captured])
PYTHON
editcap() { "${run[@]}" "$work/root/usr/bin/editcap" "$@"; }
version=$(editcap --version | awk 'NR == 1 { print $3 }')
echo "editcap ${version%.}"
[ "${version%.}" = 4.4.19 ]
for captured in 100 42; do
    python3 "$work/make.py" "$captured" "$work/in.pcap"
    report=$(editcap -d -F pcap "$work/in.pcap" "$work/out.pcap" 2>&1)
    kept=$((($(stat --format %s "$work/out.pcap") - 24) / (16 + captured)))
    echo "30 datagrams, $captured bytes of each captured: $kept kept. $report"
    if [ "$captured" = 100 ]; then
        [ "$kept" = 30 ] || { echo "the control has changed" >&2; exit 1; }
    else
        [ "$kept" = 1 ] || { echo "the behaviour has changed" >&2; exit 1; }
    fi
done
echo "as described: 29 of 30 datagrams are deleted"
