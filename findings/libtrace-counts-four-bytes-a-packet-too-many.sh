#!/usr/bin/env bash
# The tools of libtrace (tracestats, tracertstats) count four bytes for each packet that are not in the capture: the checksum of an Ethernet frame,
# which no host's capture has, is added to the length in the file. A rate trace of acknowledgements of 66 bytes is 6 % too high; packets of
# 1,514 bytes are 0.3 % too high, so that the error changes with the mix and cannot be told from a measurement. capinfos and tcpstat do not.
# The same packets with the link type "raw IP" are counted as they are.
# Cause: pcapfile_get_wire_length() in lib/format_pcapfile.c adds the frame check sequence to the length of an Ethernet record.
# Versions: libtrace-tools 3.0.22-0.2 of Debian trixie. Control: the capture of raw IP packets.
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

unpack trixie libtrace-tools=3.0.22-0.2
run[2]+=:$work/root/usr/lib
echo "libtrace-tools $(dpkg-deb --field "$work"/apt/archives/libtrace-tools_*.deb Version)"
cat > "$work/make.py" <<'PYTHON'
import struct
import sys

# 100 acknowledgements of 52 bytes of IP, with an Ethernet header (link type 1) or without (101).
for name, link, header in (("ethernet", 1, bytes.fromhex("020000000002020000000001") + b"\x08\x00"), ("raw", 101, b"")):
    with open(f"{sys.argv[1]}/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link))
        for index in range(100):
            ip = struct.pack("!BBHHHBBH", 0x45, 0, 52, index, 0x4000, 64, 6, 0) + bytes([192, 0, 2, 1, 198, 51, 100, 1])
            tcp = struct.pack("!HHIIBBHHH", 40000, 443, 101, 501 + index, 0x80, 16, 1000, 0, 0) + bytes([1, 1, 8, 10]) + bytes(8)
            packet = header + ip + tcp
            file.write(struct.pack("<IIII", 1_700_000_000, 1000 * index, len(packet), len(packet)) + packet)
PYTHON
python3 "$work/make.py" "$work"
bytes() { "${run[@]}" "$work/root/usr/bin/tracestats" "pcapfile:$work/$1.pcap" 2>&1 | awk '/Total:/ { print $3 }'; }
raw=$(bytes raw) ethernet=$(bytes ethernet)
echo "100 packets of 52 bytes, raw IP: $raw bytes; the same as Ethernet frames of 66 bytes: $ethernet bytes"
[ "$raw" = 5200 ] || { echo "the control has changed" >&2; exit 1; }
[ "$ethernet" = 7000 ] || { echo "the behaviour has changed" >&2; exit 1; }
echo "as described: 7,000 bytes instead of 6,600"
