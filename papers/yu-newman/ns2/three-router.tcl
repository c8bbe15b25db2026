# The homogeneous network of Yu and Newman (section 5.1) with ns-2's own agents, from "key value" pairs:
#
#   ns papers/yu-newman/ns2/three-router.tcl scheme liss rate 16 seed 1
#
#   xs1..5          c1..5
#         \        /
#    s --- r1 --- r2 --- r3 (clients)        cross sinks xc1..5 at r2
#
# Plain agents; LISS, ISS, MISS and JS are done from Tcl, which sets threshold and window of an ordinary Reno agent when the
# answer to its SYN has come, and hands it the first window's packets at an even pace.
#
# One line on standard output: connections; packets acknowledged in the first n seconds of each connection after its handshake,
# summed, for each n; in all, summed; by the cross traffic; the clients' timeouts, retransmitted and dropped packets.

array set cell {
    kind      reno
    scheme    plain
    pace      1
    rate      20
    delay     50
    side      30
    access    10
    buffer    50
    duration  3000
    between   5
    life      100
    shape     1.35
    cross     5
    window    100
    crosswin  100
    ssthresh  10
    bytes     1000
    overhead  0
    extra     10
    n         5
    seed      1
    arrivals  -
}
# kind      tahoe | reno | newreno | sack
# scheme    plain | liss | iss | miss | js
# pace      0: the first window of js and miss leaves at once
# rate      Mbit/s of r1-r2 and r2-r3;  delay  ms of each, one way
# side      ms of every other link, one way;  access  their rate over that of r1-r2
# buffer    limit_ of every queue (counts the packet in transmission)
# between   s, mean gap between connections;  life, shape  of their Pareto lifetimes
# cross     FTP flows from xs to xc, from exponential starts with mean gap 1 s to the end
# window, crosswin  advertised windows of clients and of cross traffic
# bytes     payload; ns-2 adds 40
# overhead  ms, ns-2's random delay before each packet, uniform from 0
# extra     ms, each connection's own propagation, uniform from 0 to this, both ways together
# n         first seconds that are counted: one number, or several as "1 3 5"
# arrivals  a file of the connections of a run here, replayed in place of draws: a line for each with name, start (s), lifetime
#           (s) and extra delay (ms), as `cargo run --package research-papers --bin arrivals` prints it
foreach {key value} $argv {
    if {![info exists cell($key)]} {
        puts stderr "three-router.tcl: no option \"$key\"; there are [lsort [array names cell]]"
        exit 2
    }
    set cell($key) $value
}
array set agents {tahoe Agent/TCP reno Agent/TCP/Reno newreno Agent/TCP/Newreno sack Agent/TCP/Sack1}
set sender $agents($cell(kind))
set sink [expr {$cell(kind) eq "sack" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]

# Far apart: ns-2's generator fills its state with the seed.
ns-random [expr {$cell(seed) * 7919 + 12345}]
# Nothing here reads the other headers, and packets are faster without them.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns rtproto Manual
Agent/TCP set packetSize_ $cell(bytes)
Agent/TCP set windowInit_ 1
Agent/TCP set overhead_ [expr {$cell(overhead) / 1000.0}]
Queue set limit_ $cell(buffer)

set rate "$cell(rate)Mb"
set fast "[expr {$cell(rate) * $cell(access)}]Mb"
foreach node {s r1 r2 r3} { set $node [$ns node] }
proc duplex {a b rate ms} { global ns; $ns duplex-link $a $b $rate "${ms}ms" DropTail }
duplex $s $r1 $fast $cell(side)
duplex $r1 $r2 $rate $cell(delay)
duplex $r2 $r3 $rate $cell(delay)
for {set i 0} {$i < 5} {incr i} {
    foreach node {xs xc c} { set ${node}($i) [$ns node] }
    duplex $xs($i) $r1 $fast $cell(side)
    duplex $xc($i) $r2 $fast $cell(side)
    duplex $c($i) $r3 $fast $cell(side)
}
# Routes by hand: ns-2's search for routes between all pairs of nodes takes 4 s of CPU time with 565 connections, and 37 s with 1488.
proc route {node to by} {
    global ns
    [$node get-module Manual] add-route $to [[$ns link $node $by] head]
}
proc leaf {node router} {
    route $node default $router
    route $router [$node node-addr] $node
}
leaf $s $r1
route $r1 default $r2
route $r2 default $r3
route $r2 [$s node-addr] $r1
route $r3 default $r2
for {set i 0} {$i < 5} {incr i} {
    leaf $xs($i) $r1
    leaf $xc($i) $r2
    leaf $c($i) $r3
    route $r2 [$xs($i) node-addr] $r1
}
# With extra: a node of its own for each connection, whose link has the connection's delay.

# Clients' packets have flow number 1, cross traffic's 2. Drops of the clients' packets are counted at every queue on their way
# that several connections share; the last link is ten times as fast as the one before it.
set monitors {}
foreach {from to} [list $s $r1 $r1 $r2 $r2 $r3] {
    set monitor [$ns makeflowmon Fid]
    $ns attach-fmon [$ns link $from $to] $monitor
    lappend monitors $monitor
}
proc dropped {} {
    global monitors
    set sum 0
    foreach monitor $monitors {
        foreach flow [$monitor flows] {
            if {[$flow set flowid_] == 1} { incr sum [$flow set pdrops_] }
        }
    }
    return $sum
}

proc uniform {a b} { return [expr {$a + ($b - $a) * [ns-random] / 2147483647.0}] }
proc exponential {mean} { return [expr {-$mean * log([uniform 1e-12 1])}] }
proc pareto {mean shape} {
    return [expr {$mean * ($shape - 1) / $shape / pow([uniform 1e-12 1], 1.0 / $shape)}]
}

# A connection that has one packet to send: its SYN, and one packet more behind the answer.
proc open_connection {from to window at flow} {
    global ns cell sender sink
    set tcp [new $sender]
    $tcp set fid_ $flow
    $tcp set window_ $window
    $ns attach-agent $from $tcp
    set end [new $sink]
    $ns attach-agent $to $end
    $ns connect $tcp $end
    # `run` sets the threshold to the window, so it is set when the connection begins.
    $ns at $at "$tcp set ssthresh_ $cell(ssthresh)"
    return $tcp
}

# The clients that live, the oldest first; of each the number of its window's cuts, the time of the last and their mean interval.
set live {}
set all(last) -1
set all(mean) 0

# Drop times are looked for every 10 ms. Equations (3) and (4), weight 1/8; the first interval as it is.
proc interval {which now} {
    global all
    if {$all($which) >= 0} {
        set gap [expr {$now - $all($which)}]
        set mean mean[string range $which 4 end]
        set all($mean) [expr {$all($mean) > 0 ? 0.875 * $all($mean) + 0.125 * $gap : $gap}]
    }
    set all($which) $now
}
proc watch {} {
    global ns live all cuts
    set now [$ns now]
    foreach tcp $live {
        set count [$tcp set ncwndcuts_]
        if {$count > $cuts($tcp)} {
            set cuts($tcp) $count
            interval last $now
            interval last$tcp $now
        }
    }
    $ns at [expr {$now + 0.01}] watch
}

# Equation (2), in packets; 0 where nobody is in congestion avoidance. Leaves the oldest of those in `oldest`.
proc share {} {
    global cell live oldest
    set steady 0
    set growing 0.0
    set oldest ""
    foreach tcp $live {
        if {[$tcp set ack_] < 1} continue
        if {[$tcp set cwnd_] < [$tcp set ssthresh_]} {
            set growing [expr {$growing + [$tcp set cwnd_]}]
        } else {
            incr steady
            if {$oldest eq ""} { set oldest $tcp }
        }
    }
    if {$steady == 0} { return 0 }
    set of [expr {$cell(scheme) eq "iss" ? "awnd_" : "cwnd_"}]
    set window [$oldest set $of]
    return [expr {($growing + $steady * $window) / ($steady + $growing / $window + 1)}]
}

# Equation (5), in packets; 1 where it has no value or less.
proc room {rtt} {
    global ns all oldest
    if {$all(mean) <= 0 || ![info exists all(mean$oldest)] || $all(mean$oldest) <= 0} { return 1 }
    set left [expr {$all(mean) - ([$ns now] - $all(last))}]
    return [expr {max(1, int($all(mean$oldest) * $left / ($all(mean) * $rtt)))}]
}

proc established {tcp at} {
    global ns cell live cuts all over
    if {[info exists over($tcp)]} return
    set now [$ns now]
    if {[$tcp set ack_] < 0} {
        $ns at [expr {$now + 0.001}] "established $tcp $at"
        return
    }
    set rtt [expr {$now - $at}]
    foreach n $cell(n) { $ns at [expr {$now + $n}] "count_first $tcp $n" }
    set first 1
    if {$cell(scheme) ne "plain"} {
        set share [expr {int([share])}]
        if {$share > 0} {
            if {$cell(scheme) eq "js"} { set first $share }
            if {$cell(scheme) eq "miss"} {
                set first [room $rtt]
                set share [expr {max($share, $first)}]
            }
            $tcp set ssthresh_ [expr {max(2, $share)}]
        }
        set cuts($tcp) [$tcp set ncwndcuts_]
        set all(last$tcp) -1
        set all(mean$tcp) 0
        lappend live $tcp
    }
    # One packet has left behind the answer to the SYN.
    if {$first > 1} { $tcp set cwnd_ $first }
    if {$cell(pace)} {
        for {set i 1} {$i < $first} {incr i} { $ns at [expr {$now + $rtt * $i / $first}] "$tcp advanceby 1" }
    } else {
        $tcp advanceby [expr {$first - 1}]
    }
    $ns at [expr {$now + $rtt * ($cell(pace) ? $first - 1 : 0) / $first + 1e-9}] "$tcp advanceby 100000000"
}

# ack_ counts from -1 with the SYN as packet 0: packets of data acknowledged are ack_. What a connection has sent when its life ends is
# acknowledged later, and counts, too.
proc acked {tcp} { return [expr {[$tcp set ack_] > 0 ? [$tcp set ack_] : 0}] }
foreach n $cell(n) { set within($n) 0 }
proc count_first {tcp n} {
    global within counted
    if {![info exists counted($tcp,$n)]} { incr within($n) [acked $tcp] }
    set counted($tcp,$n) 1
}
set timeouts 0
set rexmit 0
proc finish_connection {tcp} {
    global timeouts rexmit live over
    incr timeouts [$tcp set nrexmit_]
    incr rexmit [$tcp set nrexmitpack_]
    set place [lsearch -exact $live $tcp]
    if {$place >= 0} { set live [lreplace $live $place $place] }
    # A window of 0 sends nothing more.
    $tcp set window_ 0
    set over($tcp) 1
}

proc cross {i at extra} {
    global ns cell crosses fast r2 xs xc
    set k [expr {$i % 5}]
    set to $xc($k)
    if {$extra > 0} {
        set to [$ns node]
        duplex $to $r2 $fast [expr {$cell(side) + $extra / 2}]
        leaf $to $r2
    }
    set tcp [open_connection $xs($k) $to $cell(crosswin) $at 2]
    $ns at $at "$tcp advanceby 100000000"
    lappend crosses $tcp
}
set clients {}
proc client {k at life extra} {
    global ns cell fast r3 s c clients
    set to $c($k)
    if {$extra > 0} {
        set to [$ns node]
        duplex $to $r3 $fast [expr {$cell(side) + $extra / 2}]
        leaf $to $r3
    }
    set tcp [open_connection $s $to $cell(window) $at 1]
    $ns at $at "$tcp advanceby 1"
    # Looked for every ms, first just before the propagation of the SYN and of its answer has passed.
    set first [expr {int(4 * ($cell(delay) + $cell(side)) + $extra)}]
    $ns at [expr {$at + $first / 1000.0}] "established $tcp $at"
    set end [expr {$at + $life}]
    if {$end > $cell(duration)} { set end $cell(duration) }
    $ns at $end "finish_connection $tcp"
    lappend clients $tcp
}
proc extra {} { global cell; return [expr {$cell(extra) > 0 ? [uniform 0 $cell(extra)] : 0}] }
if {$cell(arrivals) eq "-"} {
    set at 0
    for {set i 0} {$i < $cell(cross)} {incr i} {
        set at [expr {$at + [exponential 1.0]}]
        cross $i $at [extra]
    }
    set at [exponential $cell(between)]
    while {$at < $cell(duration)} {
        set k [expr {int([uniform 0 5])}]
        set extra [extra]
        client $k $at [pareto $cell(life) $cell(shape)] $extra
        set at [expr {$at + [exponential $cell(between)]}]
    }
} else {
    set file [open $cell(arrivals)]
    set k 0
    foreach line [split [string trim [read $file]] "\n"] {
        foreach {name at life extra} $line break
        if {$life eq "-"} { cross $k $at $extra } else { client [expr {$k % 5}] $at $life $extra }
        incr k
    }
    close $file
}
if {$cell(scheme) eq "miss"} { $ns at 0 watch }
$ns at [expr {$cell(duration) + 0.001}] {
    set carried 0
    foreach tcp $crosses { incr carried [acked $tcp] }
    set total 0
    foreach tcp $clients {
        foreach n $cell(n) { count_first $tcp $n }
        incr total [acked $tcp]
    }
    set first {}
    foreach n $cell(n) { lappend first $within($n) }
    puts "connections [llength $clients] first $first total $total cross $carried timeouts $timeouts retransmitted $rexmit dropped [dropped]"
    exit 0
}
$ns run
