# One dumbbell run of ns-2, described by "key value" pairs on the command line,
# answered by one JSON object on standard output:
#
#   ns dumbbell.tcl kind sack rate 10 rtt 100 buffer 125 duration 20
#
# Topology (every link duplex and alike in both directions):
#
#   src_i --access x rate-- r1 --rate-- r2 --access x rate-- dst_i
#
# The bottleneck carries a quarter of the nominal rtt each way; the two access
# links of flow i share the rest of rtt_i/2 equally. The reverse queue is never
# full, so no ACK is lost.

# Defaults; units in the comment.
array set cell {
    kind      newreno
    receiver  every
    rate      10
    rtt       100
    buffer    125
    flows     1
    spread    0
    stagger   0
    duration  20
    ssthresh  0
    iw        1
    queue     drop-tail
    redmin    5
    redmax    15
    redweight 0.002
    redmaxp   0.1
    access    10
    seed      1
    jitter    0
    order     1
    many      0
    through   0
    trace     {}
}
# kind      tahoe | reno | newreno | sack | vegas | hoe (newreno with its estimate of the first ssthresh)
# receiver  every (an ACK per packet) | delayed (100 ms)
# rate      Mbit/s of the bottleneck
# rtt       ms, two-way propagation of the middle of the flows
# buffer    packets waiting at the bottleneck, the one in transmission not counted
# spread    the flows' rtts lie evenly over rtt x (1 -+ spread)
# stagger   ms between the starts of consecutive flows
# duration  s
# ssthresh  initial, packets; 0 is unlimited
# iw        initial window, packets
# queue     drop-tail | red (packet mode, gentle) | red-ecn (the same, marks), redmin and redmax in packets
# access    rate of the access links over the bottleneck's
# seed      of ns-2's default stream: RED's draws and the phase of each flow's 10 ms clock
# jitter    us; each flow starts later by a uniform draw from 0 to this
# order     flow i has the round-trip time of place i x order, modulo the flows; 1 is ascending
# many      1 prepares thousands of flows in a time and memory that grow with their number, not with its square
# through   1 counts the packets that leave the bottleneck
# trace     a file for ns-2's own trace of every packet on every link

if {[llength $argv] % 2 != 0} {
    puts stderr "dumbbell.tcl: [lindex $argv end] has no value"
    exit 2
}
foreach {key value} $argv {
    if {![info exists cell($key)]} {
        puts stderr "dumbbell.tcl: no option \"$key\"; there are [lsort [array names cell]]"
        exit 2
    }
    set cell($key) $value
}

proc choose {key table} {
    global cell
    array set of $table
    if {![info exists of($cell($key))]} {
        puts stderr "dumbbell.tcl: $key \"$cell($key)\" is none of [lsort [array names of]]"
        exit 2
    }
    return $of($cell($key))
}
set sender [choose kind {
    tahoe Agent/TCP reno Agent/TCP/Reno newreno Agent/TCP/Newreno sack Agent/TCP/Sack1
    vegas Agent/TCP/Vegas hoe Agent/TCP/Newreno
}]
set sink [choose receiver {every Agent/TCPSink delayed Agent/TCPSink/DelAck}]
if {$cell(kind) eq "sack"} {
    set sink [choose receiver {every Agent/TCPSink/Sack1 delayed Agent/TCPSink/Sack1/DelAck}]
}

# Far above any window here: neither the receive window nor a reverse queue limits.
set unlimited 1000000

set ns [new Simulator]
if {$cell(many)} {
    # Computed routes take memory for each pair of nodes, and every new link is searched in a list for the animator.
    $ns rtproto Manual
    Simulator instproc register-nam-linkconfig {link} {}
}
if {$cell(trace) ne ""} { $ns trace-all [open $cell(trace) w] }

# ns-2 fills its generator's whole state with the seed, so the draws of seeds 1,
# 2, 3, ... are multiples of one another, modulo a prime: the first RED drop then
# falls on the same packet in nine runs of ten. Far apart, they are not.
proc spread {seed} { return [expr {($seed * 1103515245 + 12345) % 2147483647}] }
$defaultRNG seed [spread $cell(seed)]

# On the class, because "run" resets every agent to the values of its class and
# instance variables: a window set later would leave ssthresh_ at the old one.
# Data starts at once: no SYN, and no reset to the initial window on the first ACK.
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
# 1000 bytes on the wire for every packet (with headers added, packet 0 has none).
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ $unlimited
Agent/TCP set windowInit_ $cell(iw)
if {$cell(queue) eq "red-ecn"} { Agent/TCP set ecn_ true }

# Applies the estimate, and sends new data on every second duplicate ACK.
if {$cell(kind) eq "hoe"} { Agent/TCP/Newreno set newreno_changes_ 1 }

# DropTail counts the packet in transmission in its limit, RED does not.
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1000
Queue/RED set gentle_ true
Queue/RED set setbit_ [expr {$cell(queue) eq "red-ecn"}]
Queue/RED set thresh_ $cell(redmin)
Queue/RED set maxthresh_ $cell(redmax)
Queue/RED set q_weight_ $cell(redweight)
Queue/RED set linterm_ [expr {1.0 / $cell(redmaxp)}]
set discipline [choose queue {drop-tail DropTail red RED red-ecn RED}]
set limit [choose queue [list drop-tail [expr {$cell(buffer) + 1}] red $cell(buffer) red-ecn $cell(buffer)]]

set core_delay [expr {$cell(rtt) / 4.0}]
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 $cell(rate)Mb ${core_delay}ms $discipline
$ns simplex-link $r2 $r1 $cell(rate)Mb ${core_delay}ms DropTail
$ns queue-limit $r1 $r2 $limit
$ns queue-limit $r2 $r1 $unlimited

# Counts the drops at the bottleneck, at no other cost.
set drops [new QueueMonitor]
set tap [new SnoopQueue/Drop]
$tap set-monitor $drops
set bottleneck [$ns link $r1 $r2]
$tap target [$bottleneck set drophead_]
[$bottleneck queue] drop-target $tap

# Integrates the packets that wait over time; only where RED's queue is asked for, because it costs a little.
if {$cell(queue) ne "drop-tail"} {
    set waiting [new Integrator]
    $drops set-pkts-integrator $waiting
    set enter [new SnoopQueue/In]
    $enter set-monitor $drops
    $enter target [$bottleneck set head_]
    $bottleneck set head_ $enter
    set leave [new SnoopQueue/Out]
    $leave set-monitor $drops
    $leave target [[$bottleneck queue] target]
    [$bottleneck queue] target $leave
}

# Counts the packets that leave the bottleneck.
if {$cell(through)} {
    set out [new SnoopQueue/Out]
    $out set-monitor $drops
    $out target [[$bottleneck queue] target]
    [$bottleneck queue] target $out
}

# Routes of `node`: to `neighbour`, or to all others through it.
proc route {node args} { eval [list [$node get-module Manual] add-route-to-adj-node] $args }
if {$cell(many)} {
    route $r1 -default $r2
    route $r2 -default $r1
}

# Another seed than the default stream's, or both would draw the same numbers.
set start_draw [new RNG]
$start_draw seed [spread [expr {$cell(seed) + 1000}]]
for {set i 0} {$i < $cell(flows)} {incr i} {
    set place [expr {$i * $cell(order) % $cell(flows)}]
    set place [expr {$cell(flows) > 1 ? 2.0 * $place / ($cell(flows) - 1) - 1.0 : 0.0}]
    set rtt [expr {$cell(rtt) * (1.0 + $cell(spread) * $place)}]
    set access_delay [expr {($rtt / 2.0 - $core_delay) / 2.0}]
    set src [$ns node]
    set dst [$ns node]
    foreach {a b} [list $src $r1 $r2 $dst] {
        $ns duplex-link $a $b [expr {$cell(access) * $cell(rate)}]Mb ${access_delay}ms DropTail
        $ns queue-limit $a $b $unlimited
        $ns queue-limit $b $a $unlimited
    }
    if {$cell(many)} {
        foreach {host router} [list $src $r1 $dst $r2] {
            route $host -default $router
            route $router $host
        }
    }
    set tcp($i) [new $sender]
    set peer [new $sink]
    $ns attach-agent $src $tcp($i)
    $ns attach-agent $dst $peer
    $ns connect $tcp($i) $peer
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    if {$cell(ssthresh) > 0} {
        $ns at 0.0 "$tcp($i) set ssthresh_ $cell(ssthresh)"
    }
    set late [expr {$cell(jitter) > 0 ? [$start_draw uniform 0 $cell(jitter)] * 1e-6 : 0.0}]
    $ns at [expr {$i * $cell(stagger) * 1e-3 + $late}] "$ftp start"
}

# User and system time of this process; the kernel counts in hundredths of a second.
proc cpu_seconds {} {
    set file [open /proc/self/stat]
    set stat [read $file]
    close $file
    set fields [string range $stat [string last ")" $stat] end]
    return [expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}]
}

# Peak memory of this process, MB.
proc peak_memory {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+([0-9]+) kB} [read $file] -> kilobytes
    close $file
    return [expr {$kilobytes / 1e3}]
}

proc every_flow {variable} {
    global tcp cell
    set values {}
    for {set i 0} {$i < $cell(flows)} {incr i} {
        lappend values [$tcp($i) set $variable]
    }
    return $values
}
proc total {values} { return [expr [join $values +]] }

# Mean of the packets waiting at the bottleneck, the one in transmission not counted.
proc mean_queue {} {
    global cell drops waiting
    if {![info exists waiting]} { return null }
    $waiting newpoint $cell(duration) [$drops set pkts_]
    return [expr {[$waiting set sum_] / $cell(duration)}]
}

proc finish {} {
    global cell drops built ns
    $ns flush-trace
    set delivered {}
    foreach ack [every_flow ack_] { lappend delivered [expr {$ack + 1}] }
    set sent [every_flow ndatapack_]
    set lost [$drops set pdrops_]
    # A packet counts once for each link it crosses: data one access link, then
    # two more links unless dropped; an ACK three. At the end, a data packet in
    # transit counts as if it had arrived, and an ACK in transit does not count.
    set through [expr {$cell(through) ? [$drops set pdepartures_] : [total $sent] - $lost}]
    set hops [expr {[total $sent] + 2 * $through + 3 * [total [every_flow nackpack_]]}]
    set cpu [expr {[cpu_seconds] - $built}]
    puts "{\"delivered\":\[[join $delivered ,]\],\
\"sent\":\[[join $sent ,]\],\
\"retransmits\":\[[join [every_flow nrexmitpack_] ,]\],\
\"timeouts\":\[[join [every_flow nrexmit_] ,]\],\
\"drops\":[expr {int($lost)}],\"through\":[expr {int($through)}],\"mean_queue\":[mean_queue],\"packet_hops\":[expr {int($hops)}],\"cpu_s\":[format %.2f $cpu],\
\"built_s\":[format %.2f $built],\"peak_mb\":[peak_memory]}"
    exit 0
}
$ns at $cell(duration) finish
set built [cpu_seconds]
$ns run
