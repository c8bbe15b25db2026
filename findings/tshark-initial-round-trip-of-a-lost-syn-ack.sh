#!/usr/bin/env bash
# tshark's initial round trip (tcp.analysis.initial_rtt) counts the wait for a lost SYN-ACK as path. A server's capture of a path of 100 ms,
# with the first SYN-ACK lost and the second a second later, gives 1.1 s. In the capture of a client
# whose SYN was lost, the field has the 100 ms of the second SYN. Every later segment of the connection has the field, and a retransmission
# within 1.1 s is then called out of order (tshark-retransmission-or-reordering.sh).
# Cause: epan/dissectors/packet-tcp.c takes the time of the newest SYN, and none of the SYN-ACKs, until the acknowledgement that ends the
# handshake.
# Versions: tshark 4.4.19-0+deb13u1 of Debian trixie. Controls: no loss, and the SYN lost: 0.1 s each.
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

from capture import write

SYN, SYN_ACK, ACK = ("client", "S", 100, 0, 0), ("server", "SA", 500, 101, 0), ("client", "A", 101, 501, 0)
captures = {
    "no-loss": [(0, *SYN), (0, *SYN_ACK), (0.1, *ACK)],
    "syn-lost": [(0, *SYN), (1, *SYN), (1.1, *SYN_ACK), (1.1, *ACK)],
    "syn-ack-lost": [(0, *SYN), (0, *SYN_ACK), (1, *SYN_ACK), (1.1, *ACK)],
}
for name, segments in captures.items():
    request = (segments[-1][0], "client", "PA", 101, 501, 100)
    write(f"{sys.argv[1]}/{name}.pcap", [*segments, request])
PYTHON
python3 "$work/make.py" "$work"
for case in no-loss:0.1 syn-lost:0.1 syn-ack-lost:1.1; do
    name=${case%:*} expected=${case#*:}
    read=$(tshark -r "$work/$name.pcap" -Y tcp.len==100 -T fields -e tcp.analysis.initial_rtt)
    echo "$name: initial round trip $read s, path 0.1 s"
    python3 -c "import sys; sys.exit(0 if abs(float('$read') - $expected) < 1e-6 else 'the behaviour has changed')"
done
echo "as described: the wait for the second SYN-ACK is in the initial round trip"
