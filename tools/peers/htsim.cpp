// A dumbbell of TCP flows in htsim, for tools/bench-peers.
//
//   htsim FLOWS MBIT_S RTT_MS BUFFER SECONDS
//
// Prints one line: packet-hops, packets through the bottleneck, drops there, CPU seconds of the preparation and of all, peak memory
// in MB. Each link is a queue and a pipe. htsim's TCP is NewReno without SACK. It begins with a SYN, and has a least timeout of
// 250 ms, which is checked every 10 ms.

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include <ctime>
#include <memory>

namespace {

// A queue that counts the packets that it has transmitted.
class Link : public Queue {
  public:
    Link(linkspeed_bps rate, mem_b room, simtime_picosec delay, EventList& events)
        : Queue(rate, room, events, nullptr), pipe(delay, events) {}
    void doNextEvent() override {
        transmitted++;
        Queue::doNextEvent();
    }
    uint64_t transmitted = 0;
    Pipe pipe;
};

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

// Peak memory of this process, MB.
double peak_memory() {
    double kilobytes = 0;
    char line[256];
    FILE* status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %lf", &kilobytes);
    if (status) fclose(status);
    return kilobytes / 1e3;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: htsim FLOWS MBIT_S RTT_MS BUFFER SECONDS\n");
        return 2;
    }
    const int flows = atoi(argv[1]);
    const linkspeed_bps rate = speedFromMbps(uint64_t(atoll(argv[2])));
    const simtime_picosec rtt = timeFromMs(atof(argv[3]));
    const simtime_picosec end = timeFromSec(atof(argv[5]));
    const int packet = 1000;
    const mem_b unlimited = mem_b(1) << 50;
    // The packet in transmission counts here.
    const mem_b buffer = (atoll(argv[4]) + 1) * packet;
    // htsim reports each timeout and the state of a connection.
    cout.setstate(ios::failbit);

    Packet::set_packet_size(packet);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(end);
    vector<unique_ptr<Link>> links;
    auto link = [&](linkspeed_bps rate, mem_b room, simtime_picosec delay) {
        links.push_back(make_unique<Link>(rate, room, delay, events));
        return links.back().get();
    };
    Link* bottleneck = link(rate, buffer, rtt / 4);
    Link* back = link(rate, unlimited, rtt / 4);
    TcpRtxTimerScanner timeouts(timeFromMs(10), events);
    for (int i = 0; i < flows; i++) {
        const simtime_picosec place = uint64_t(i) * 7 % flows;
        const simtime_picosec own = rtt * 9 / 10 + rtt / 5 * place / max(flows - 1, 1);
        const simtime_picosec access = (own / 2 - rtt / 4) / 2;
        auto path = [&](Link* shared, PacketSink* to) {
            Route* route = new Route();
            for (Link* l : {link(10 * rate, unlimited, access), shared, link(10 * rate, unlimited, access)}) {
                route->push_back(l);
                route->push_back(&l->pipe);
            }
            route->push_back(to);
            return route;
        };
        TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        source->set_cwnd(packet);
        source->set_ssthresh(0xffffffff);
        timeouts.registerTcp(*source);
        source->connect(*path(bottleneck, sink), *path(back, source), *sink, timeFromMs(1000.0 * i / flows));
    }

    const double prepared = cpu_seconds();
    while (events.doNextEvent()) {
    }
    const double all = cpu_seconds();
    uint64_t hops = 0;
    for (auto& l : links) hops += l->transmitted;
    printf("%llu %llu %d %.4f %.4f %.1f\n", (unsigned long long)hops, (unsigned long long)bottleneck->transmitted,
           bottleneck->num_drops(), prepared, all, peak_memory());
    fflush(stdout);
    // The objects of htsim have no order of destruction.
    _Exit(0);
}
