// A dumbbell of TCP flows in ns-3, for tools/bench-peers.
//
//   dumbbell FLOWS MBIT_S RTT_MS BUFFER SECONDS [plain] [prr]
//
// Prints one line: packet-hops, packets through the bottleneck, drops there, CPU seconds of the preparation and of all, peak memory
// in MB. Senders are TcpNewReno with SACK, an initial window of one segment and a least timeout of 200 ms. Receivers send an ACK for
// each packet. The packets have no timestamps, and 1000 bytes with all headers.
//
// Hosts and routers have ns-3's stack, with two substitutes, because the work of its own parts grows with the flows. Routes are found
// by index. A router has one receive handler for all devices; `plain` keeps ns-3's handlers of each device. Recovery is
// TcpClassicRecovery; `prr` takes TcpPrrRecovery, the default of ns-3.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <ctime>
#include <string>

using namespace ns3;

namespace
{

// Sender i has the address SENDERS + i, its receiver RECEIVERS + i.
const uint32_t SENDERS = 10u << 24;
const uint32_t RECEIVERS = 11u << 24;

double
CpuSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

// Peak memory of this process, MB.
double
PeakMemory()
{
    double kilobytes = 0;
    char line[256];
    std::FILE* status = std::fopen("/proc/self/status", "r");
    while (status && std::fgets(line, sizeof line, status))
    {
        std::sscanf(line, "VmHWM: %lf", &kilobytes);
    }
    if (status)
    {
        std::fclose(status);
    }
    return kilobytes / 1e3;
}

// Routes by index: addresses from `first` on have a device each, all others have device `other`.
class IndexRouting : public Ipv4RoutingProtocol
{
  public:
    uint32_t own = 0;
    uint32_t first = 0;
    std::vector<Ptr<Ipv4Route>> near;
    Ptr<Ipv4Route> other;

    static Ptr<Ipv4Route> To(Ptr<NetDevice> device, Ipv4Address source)
    {
        auto route = Create<Ipv4Route>();
        route->SetOutputDevice(device);
        route->SetSource(source);
        route->SetGateway(Ipv4Address::GetZero());
        return route;
    }

    Ptr<Ipv4Route> Find(Ipv4Address to) const
    {
        const uint32_t index = to.Get() - first;
        return index < near.size() ? near[index] : other;
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return Find(header.GetDestination());
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback&,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback&) override
    {
        if (header.GetDestination().Get() == own)
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        }
        else
        {
            forward(Find(header.GetDestination()), packet, header);
        }
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ptr<Ipv4> m_ipv4;
};

class IndexRoutingHelper : public Ipv4RoutingHelper
{
  public:
    IndexRoutingHelper* Copy() const override { return new IndexRoutingHelper(*this); }
    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<IndexRouting>(); }
};

Ptr<IndexRouting>
RoutingOf(Ptr<Node> node)
{
    return DynamicCast<IndexRouting>(node->GetObject<Ipv4>()->GetRoutingProtocol());
}

// Adds an interface without the device's entries in the node's list of handlers.
void
AddInterface(Ptr<Node> node, Ptr<NetDevice> device, uint32_t address, bool plain)
{
    auto ipv4 = node->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(device);
    if (address != 0)
    {
        ipv4->AddAddress(interface, Ipv4InterfaceAddress(Ipv4Address(address), Ipv4Mask("255.255.255.255")));
    }
    ipv4->SetUp(interface);
    if (!plain)
    {
        const auto receive = MakeCallback(&TrafficControlLayer::Receive, node->GetObject<TrafficControlLayer>());
        node->UnregisterProtocolHandler(receive);
        node->UnregisterProtocolHandler(receive);
    }
}

} // namespace

int
main(int argc, char** argv)
{
    bool plain = false;
    bool prr = false;
    bool known = argc >= 6;
    for (int i = 6; i < argc; i++)
    {
        const std::string word = argv[i];
        plain |= word == "plain";
        prr |= word == "prr";
        known &= word == "plain" || word == "prr";
    }
    if (!known)
    {
        std::fprintf(stderr, "usage: dumbbell FLOWS MBIT_S RTT_MS BUFFER SECONDS [plain] [prr]\n");
        return 2;
    }
    const uint32_t flows = std::atoi(argv[1]);
    const uint64_t rate = std::atoll(argv[2]) * 1000000;
    const int64_t rtt = std::atof(argv[3]) * 1e6;
    const double seconds = std::atof(argv[5]);
    // 20 bytes of IP, 20 of TCP and 2 of PPP complete 1000.
    const uint32_t segment = 958;
    // Room for any window here, so that no buffer of a host limits a flow; bytes of packets are not stored. Each write has whole
    // segments: ns-3 stores the payload of others
    // (findings/ns3-turns-virtual-payload-into-real-bytes.sh), and takes twice the memory.
    const uint32_t write = 1024 * segment;
    const uint32_t window = 128 * write;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue(prr ? "ns3::TcpPrrRecovery" : "ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(write));

    NodeContainer nodes(2 * flows + 2);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(IndexRoutingHelper());
    stack.Install(nodes);
    const Ptr<Node> routers[] = {nodes.Get(2 * flows), nodes.Get(2 * flows + 1)};

    std::vector<Ptr<QueueBase>> queues;
    auto connect = [&](Ptr<Node> a, Ptr<Node> b, uint64_t rate, int64_t delay, std::string room) {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(room));
        // Otherwise ns-3 puts a queueing discipline of its own before the queue of the device.
        link.DisableFlowControl();
        auto devices = link.Install(a, b);
        for (uint32_t end = 0; end < 2; end++)
        {
            queues.push_back(DynamicCast<PointToPointNetDevice>(devices.Get(end))->GetQueue());
        }
        return devices;
    };

    // The queue of a device does not count the packet in transmission.
    const std::string unlimited = "1000000000p";
    auto core = connect(routers[0], routers[1], rate, rtt / 4, unlimited);
    queues[0]->SetMaxSize(QueueSize(std::string(argv[4]) + "p"));
    for (uint32_t side = 0; side < 2; side++)
    {
        AddInterface(routers[side], core.Get(side), 0, plain);
        auto routing = RoutingOf(routers[side]);
        routing->first = side == 0 ? SENDERS : RECEIVERS;
        routing->other = IndexRouting::To(core.Get(side), Ipv4Address());
        if (!plain)
        {
            auto ipv4 = routers[side]->GetObject<Ipv4L3Protocol>();
            routers[side]->RegisterProtocolHandler(MakeCallback(&Ipv4L3Protocol::Receive, ipv4), 0x0800, nullptr);
        }
    }

    const uint16_t port = 9;
    for (uint32_t i = 0; i < flows; i++)
    {
        const int64_t place = uint64_t(i) * 7 % flows;
        const int64_t own = rtt * 9 / 10 + rtt / 5 * place / std::max(flows - 1, 1u);
        for (uint32_t side = 0; side < 2; side++)
        {
            auto host = nodes.Get(2 * i + side);
            const uint32_t address = (side == 0 ? SENDERS : RECEIVERS) + i;
            auto devices = connect(host, routers[side], 10 * rate, (own / 2 - rtt / 4) / 2, unlimited);
            AddInterface(host, devices.Get(0), address, true);
            AddInterface(routers[side], devices.Get(1), 0, plain);
            auto routing = RoutingOf(host);
            routing->own = address;
            routing->other = IndexRouting::To(devices.Get(0), Ipv4Address(address));
            RoutingOf(routers[side])->near.push_back(IndexRouting::To(devices.Get(1), Ipv4Address()));
        }
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(nodes.Get(2 * i + 1));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address(RECEIVERS + i), port));
        source.Install(nodes.Get(2 * i)).Start(Seconds(double(i) / flows));
    }

    Simulator::Stop(Seconds(seconds));
    const double prepared = CpuSeconds();
    Simulator::Run();
    const double all = CpuSeconds();
    // Packets that have left the queue of a device.
    uint64_t hops = 0;
    auto sent = [](const Ptr<QueueBase>& queue) { return uint64_t(queue->GetTotalReceivedPackets()) - queue->GetNPackets(); };
    for (const auto& queue : queues)
    {
        hops += sent(queue);
    }
    std::printf("%llu %llu %u %.4f %.4f %.1f\n",
                static_cast<unsigned long long>(hops),
                static_cast<unsigned long long>(sent(queues[0])),
                queues[0]->GetTotalDroppedPackets(),
                prepared,
                all,
                PeakMemory());
    std::fflush(stdout);
    _Exit(0);
}
