#!/usr/bin/env bash
# ns-3 keeps payload without content as a number of zeros, so that the memory of a packet does not depend on its size. For a TCP transfer
# this holds only if each write of the application has whole segments. The defaults, 512 bytes a write and 536 a segment, make all payload real
# bytes. The packets on the wire stay the same, but the transfer takes more than twice the memory. With segments of 1448 bytes it is five times.
# Nothing warns of it. A comparison of simulators over many flows then measures the size of a write.
# Cause: TcpTxBuffer::GetPacketFromList() in src/internet/model/tcp-tx-buffer.cc joins the rest of one write with the whole next write.
# Buffer::AddAtEnd() in src/network/model/buffer.cc joins two areas of zeros as a number only if no other packet shares the first buffer.
# The segments cut from a write share the buffer of its rest, so that the zeros of both are written out.
# Versions: libns3-dev 3.37-2 of Debian bookworm, with the g++ of that release. Controls: the same transfers with writes of whole segments, and
# the same two packets without another owner.
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

unpack bookworm libns3-dev=3.37-2
mkdir "$work/root/tmp"
cat > "$work/root/writes.cc" <<'CPP'
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>

using namespace ns3;

namespace
{

// Bytes that the program holds on the heap, and their maximum.
size_t held = 0;
size_t peak = 0;

struct Wire
{
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint64_t stored = 0;
} wire;

// The serialized form of a packet has the real bytes and, for the zeros, their number.
void
Sent(Ptr<const Packet> packet)
{
    wire.packets++;
    wire.bytes += packet->GetSize();
    wire.stored += packet->GetSerializedSize();
}

} // namespace

void*
operator new(size_t size)
{
    void* memory = std::malloc(size);
    if (!memory)
    {
        throw std::bad_alloc();
    }
    held += malloc_usable_size(memory);
    peak = std::max(peak, held);
    return memory;
}

void
operator delete(void* memory) noexcept
{
    held -= memory ? malloc_usable_size(memory) : 0;
    std::free(memory);
}

void
operator delete(void* memory, size_t) noexcept
{
    operator delete(memory);
}

// "join": serialized size of 500 and 458 zeros joined, without and with another owner of the first ones. Otherwise a transfer:
// bytes received, packets and bytes on the wire, stored bytes a packet, and the transfer's maximum of the heap in KB.
int
main(int count, char** argument)
{
    if (count < 4)
    {
        for (bool shared : {false, true})
        {
            auto first = Create<Packet>(500);
            Ptr<Packet> other = shared ? first->Copy() : nullptr;
            first->AddAtEnd(Create<Packet>(458));
            std::printf("%u ", first->GetSerializedSize());
        }
        std::printf("\n");
        return 0;
    }
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 22));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 22));
    if (std::atoi(argument[1]) != 0)
    {
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(std::atoi(argument[1])));
    }
    NodeContainer nodes(2);
    InternetStackHelper().Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    link.SetChannelAttribute("Delay", StringValue("50ms"));
    auto devices = link.Install(nodes);
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));
    auto interfaces = Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);
    const char* tcp = "ns3::TcpSocketFactory";
    auto sinks = PacketSinkHelper(tcp, InetSocketAddress(Ipv4Address::GetAny(), 9)).Install(nodes.Get(1));
    BulkSendHelper source(tcp, InetSocketAddress(interfaces.GetAddress(1), 9));
    if (std::atoi(argument[2]) != 0)
    {
        source.SetAttribute("SendSize", UintegerValue(std::atoi(argument[2])));
    }
    source.SetAttribute("MaxBytes", UintegerValue(std::atoi(argument[3])));
    source.Install(nodes.Get(0));
    const size_t before = held;
    peak = held;
    Simulator::Stop(Seconds(60));
    Simulator::Run();
    const uint64_t received = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    std::printf("%lu %lu %lu %lu %lu\n", received, wire.packets, wire.bytes, wire.stored / wire.packets, (peak - before) / 1000);
}
CPP
# A program of the unpacked system.
inside() { unshare --user --map-root-user --root="$work/root" --wd=/ "$@"; }
version=$(dpkg-deb --field "$work"/apt/archives/libns3-dev_*.deb Version)
echo "ns-3 of libns3-dev $version"
[ "$version" = 3.37-2 ]
libraries=(applications bridge core internet network point-to-point stats traffic-control)
nice -n 19 unshare --user --map-root-user --root="$work/root" --wd=/ \
    g++ -std=c++17 -O1 -I/usr/include/ns3.37 -o writes writes.cc "${libraries[@]/#/-lns3-}"
changed() { echo "$1 has changed" >&2; exit 1; }
read -r alone shared < <(inside /writes join)
echo "500 and 458 zeros joined: $alone bytes serialized, with another owner of the first $shared"
[ "$alone" -lt 100 ] || changed "the control"
[ "$shared" -ge 958 ] || changed "the behaviour"
# Segment, write of whole segments, another write, least ratio of the memory. 0 is the default: 536 and 512 bytes.
for case in "0 536 0 2" "1448 65160 65536 4" "1448 1448 1449 4"; do
    read -r segment whole other ratio <<< "$case"
    for write in "$whole" "$other"; do
        read -r received packets bytes stored memory < <(inside /writes "$segment" "$write" 5000000)
        echo "segment ${segment/#0/default}, write ${write/#0/default}: $received bytes received, $packets packets of $bytes bytes," \
            "$stored stored a packet, $memory KB of memory"
        [ "$received" = 5000000 ] || changed "the control"
        if [ "$write" = "$whole" ]; then
            [ "$stored" -lt 150 ] || changed "the control"
            control=("$packets $bytes" "$memory")
        else
            [ "${control[0]}" = "$packets $bytes" ] || changed "the control"
            # All payload but that of the first write.
            [ "$stored" -gt $((bytes / packets * 95 / 100)) ] || changed "the behaviour"
            [ "$memory" -gt $((control[1] * ratio)) ] || changed "the behaviour"
        fi
    done
done
echo "as described: payload without content becomes real bytes unless writes are whole segments"
