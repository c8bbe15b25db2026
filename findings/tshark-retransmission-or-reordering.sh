#!/usr/bin/env bash
# tshark calls one and the same segment "out of order" or "retransmission" depending on whether the handshake is in the file. A segment that
# fills a hole is out of order if it comes within the initial round trip after the newest segment, and within 3 ms if that round trip is
# unknown. So the retransmissions of a transfer with a 200 ms path vanish from tcp.analysis.retransmission, the count that people add up as
# loss, if the capture has the connection's start, and appear if the first three packets are cut off.
# Cause: tcp_analyze_sequence_number() in epan/dissectors/packet-tcp.c: its limit is the initial round trip, or 3 ms without one.
# Versions: tshark 4.4.19-0+deb13u1 of Debian trixie. Control: the segment 250 ms after the newest one, a retransmission in both files.
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

unpack trixie tshark=4.4.19-0+deb13u1
# Its data and its own configuration; plugins and preferences of the host take no part.
export WIRESHARK_DATA_DIR=$work/root/usr/share/wireshark WIRESHARK_PLUGIN_DIR=$work/none HOME=$work XDG_CONFIG_HOME=$work/none
cat > "$work/capture.py" <<'PYTHON'
import struct

CLIENT, SERVER = bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])


def write(path, segments):
    """A capture of one connection: rows of (seconds, sender, flags, sequence number, acknowledgement number, bytes of data)."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))  # addresses of IP come first
        for at, sender, flags, sequence, acknowledgement, size in segments:
            ports, addresses = ((40000, 443), CLIENT + SERVER) if sender == "client" else ((443, 40000), SERVER + CLIENT)
            options = bytes([2, 4, 5, 180]) if "S" in flags else b""  # maximum segment size 1,460
            bits = sum({"F": 1, "S": 2, "P": 8, "A": 16}[flag] for flag in flags)
            offset = (20 + len(options)) // 4 << 4
            tcp = struct.pack("!HHIIBBHHH", *ports, sequence, acknowledgement, offset, bits, 65000, 0, 0) + options + bytes(size)
            ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + addresses
            microseconds = round(at * 1e6)
            header = struct.pack("<IIII", 1_700_000_000 + microseconds // 10**6, microseconds % 10**6, *[20 + len(tcp)] * 2)
            file.write(header + ip + tcp)


def handshake(round_trip=0.1):
    return [(0, "client", "S", 100, 0, 0), (round_trip, "server", "SA", 500, 101, 0), (round_trip, "client", "A", 101, 501, 0)]
PYTHON
tshark() { "${run[@]}" "$work/root/usr/bin/tshark" "$@" 2> /dev/null; }
version=$(tshark --version | awk 'NR == 1 { print $3 }' )
version=${version%.}
echo "tshark $version"
[ "$version" = 4.4.19 ]
cat > "$work/make.py" <<'PYTHON'
import sys

from capture import handshake, write

# The request, five segments of the response of which the third was lost before the place of the capture, and its retransmission.
after = float(sys.argv[1])
exchange = [(0.2, "client", "PA", 101, 501, 100)]
exchange += [(0.4 + index / 1000, "server", "A", 501 + 1000 * index, 201, 1000) for index in (0, 1, 3, 4)]
exchange += [(0.404 + after, "server", "A", 2501, 201, 1000)]
write(sys.argv[2] + "/whole.pcap", handshake(0.2) + exchange)
write(sys.argv[2] + "/without.pcap", exchange)
PYTHON
labels() {
    tshark -r "$1" -T fields -e tcp.analysis.retransmission -e tcp.analysis.out_of_order |
        awk -F '\t' '$1 != "" { r++ } $2 != "" { o++ } END { print r + 0 " retransmissions, " o + 0 " out of order" }'
}
for after in 0.250 0.150; do
    python3 "$work/make.py" "$after" "$work"
    whole=$(labels "$work/whole.pcap") without=$(labels "$work/without.pcap")
    echo "hole filled $after s after the newest segment: with the handshake $whole; without $without"
    retransmission="1 retransmissions, 0 out of order" order="0 retransmissions, 1 out of order"
    if [ "$after" = 0.250 ]; then
        [ "$whole" = "$retransmission" ] && [ "$without" = "$retransmission" ] || { echo "the control has changed" >&2; exit 1; }
    else
        [ "$whole" = "$order" ] && [ "$without" = "$retransmission" ] || { echo "the behaviour has changed" >&2; exit 1; }
    fi
done
echo "as described: the label depends on the handshake"
