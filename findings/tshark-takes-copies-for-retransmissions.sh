#!/usr/bin/env bash
# A capture of `-i any` on a host with containers has each packet on two devices, and tshark takes the second copy for a retransmission, although
# it has the same IP identification, another interface number and comes 20 us later: a transfer without loss has as many retransmissions as
# data segments, and its acknowledgements become duplicate ones. editcap -d, made against copies, removes none, since the
# header of the link type LINUX_SLL2 has the interface's number; only -I 20, which ignores that header, does.
# Cause: tcp_analyze_sequence_number() in epan/dissectors/packet-tcp.c looks at sequence numbers and times, not at the IP header or device.
# Versions: tshark 4.4.19-0+deb13u1 of Debian trixie. Controls: the capture of one device, and the copies removed with -I 20.
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
cat > "$work/copies.py" <<'PYTHON'
import struct
import sys

from capture import handshake, write

segments = handshake(0.1) + [(0.1, "client", "PA", 101, 501, 100), (0.2, "server", "A", 501, 201, 0)]
segments += [(0.2 + index / 1000, "server", "A", 501 + 1000 * index, 201, 1000) for index in range(10)]
segments += [(0.3 + index / 1000, "client", "A", 201, 2501 + 2000 * index, 0) for index in range(5)]
write(sys.argv[1] + "/raw.pcap", segments)
# The same packets with the header of LINUX_SLL2: those of one device, and those of a container's device and the bridge behind it. IP
# identifications number the packets.
data, at, one, both = open(sys.argv[1] + "/raw.pcap", "rb").read(), 24, [], []
while at < len(data):
    seconds, microseconds, size, _ = struct.unpack_from("<IIII", data, at)
    packet = bytearray(data[at + 16 : at + 16 + size])
    struct.pack_into("!H", packet, 4, len(one) + 1)
    at += 16 + size
    for copy, interface in enumerate((3, 7)):
        header = struct.pack("!HHIHBB8s", 0x0800, 0, interface, 1, 0, 6, bytes(8))
        record = struct.pack("<IIII", seconds, microseconds + 20 * copy, 20 + size, 20 + size) + header + packet
        both.append(record)
        if copy == 0:
            one.append(record)
for name, records in (("one", one), ("both", both)):
    with open(f"{sys.argv[1]}/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 276) + b"".join(records))
PYTHON
python3 "$work/copies.py" "$work"
editcap() { "${run[@]}" "$work/root/usr/bin/editcap" -F pcap "$@" 2> /dev/null; }
editcap -d "$work/both.pcap" "$work/without.pcap"
editcap -I 20 -d "$work/both.pcap" "$work/ignored.pcap"
count() {
    local flags
    flags=$(tshark -r "$work/$1.pcap" -T fields -e tcp.len -e tcp.analysis.retransmission -e tcp.analysis.duplicate_ack |
        awk -F '\t' '$1 > 0 { d++ } $2 != "" { r++ } $3 != "" { a++ } END { print d + 0, r + 0, a + 0 }')
    echo "$1: data segments, retransmissions, duplicate acknowledgements: $flags"
    [ "$flags" = "$2" ] || { echo "the $3 has changed" >&2; exit 1; }
}
count one "11 0 0" control
count ignored "11 0 0" control
count both "22 13 7" behaviour
count without "22 13 7" behaviour
echo "as described: copies are retransmissions for tshark, and no copies for editcap -d"
