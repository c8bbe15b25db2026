# Chapter 4 of Liu's thesis in ns-2: long flows in one or both directions of a
# dumbbell, under one of four increase rules. Run from the repository's root:
#
#   ns papers/liu/ns2/exp-dumbbell.tcl rule exp rate 80
#
# prints one JSON object: what the forward bottleneck did between `from` and
# `duration`, and what each forward flow delivered in that time.

array set cell {
    rule      tcp
    rate      80
    rtt       60
    extra     40
    forward   16
    back      16
    buffer    600
    queue     red
    bytes     0
    mean      1000
    redmin    60
    redmax    180
    burst     4
    access    10
    from      20
    duration  120
    apart     0
    legacy    0
    late      0
    lateat    100
    lateto    200
    every     0
    spans     {}
    follow    30
    arrivals  -
    seed      1
}
# rule      tcp | hstcp | stcp | exp
# rate      Mbit/s
# rtt       ms, two-way propagation of a flow without extra
# extra     ms; each flow has a uniform draw from 0 to this more
# forward   flows in the direction that is measured; back: in the other
# buffer    packets waiting
# queue     red | drop-tail
# bytes     RED's average in bytes of packets of `mean` bytes (1), or in packets (0)
# redmin    packets, redmax: packets
# burst     maxburst_, packets that one ACK may release; 0 is any number
# access    rate of the access links over the bottleneck's
# from      s, beginning of what is measured
# apart     s between the starts of the forward flows
# late      forward flows from lateat to lateto, s, beside the others
# legacy    packets, Scalable TCP's window up to which it has Reno's rules; 0: none
# every     s; prints the forward flows' rates (Mbit/s), the bottleneck's
#           utilisation and its queue (packets) over each such interval to
#           standard error, and their fairness index to standard output; 0: no
# spans     pairs of times, s: "350 450 400 450"; of each the fairness index
#           of the forward flows, their shares of the capacity, the sum of
#           these, and the largest but for that of the first flow
# follow    ms between two looks at a window of EXP
# arrivals  a file of the flows of a run here, in place of draws and of `forward`, `back`, `apart` and `late`: a line for each with name, start
#           (s), lifetime (s) and propagation delay of its access links (ms, both ways together), as `cargo run --package
#           research-papers --bin arrivals` prints it. Flows named back come from the other direction; those named late are
#           not measured.

foreach {key value} $argv {
    if {![info exists cell($key)]} {
        puts stderr "exp-dumbbell.tcl: no option \"$key\"; there are [lsort [array names cell]]"
        exit 2
    }
    set cell($key) $value
}

# Nothing here reads the other headers, and packets are faster without them.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
# Routes are set by hand: ns-2's search for routes between all pairs of nodes grows with the cube of their number.
$ns rtproto Manual
# Far apart, as neighbouring seeds of ns-2 draw nearly the same numbers.
$defaultRNG seed [expr {($cell(seed) * 1103515245 + 12345) % 2147483647}]
set draw [new RNG]
$draw seed [expr {(($cell(seed) + 1000) * 1103515245 + 12345) % 2147483647}]

Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 1
Agent/TCP set maxburst_ $cell(burst)
Agent/TCP set ecn_ [expr {$cell(queue) eq "red"}]

# decrease_num_ is the part that is kept. The binomial rule (6) adds
# increase_num_ / w^(1+k) an ACK: with k = -1 a constant, which is Scalable TCP.
# EXP adds increase_num_ / w an ACK (rule 1); `follow` sets the numerator of Eq. 1.
switch $cell(rule) {
    tcp   { }
    hstcp { Agent/TCP set windowOption_ 8 }
    stcp  {
        Agent/TCP set windowOption_ 6
        Agent/TCP set k_parameter_ -1
        Agent/TCP set increase_num_ 0.01
        Agent/TCP set decrease_num_ 0.875
    }
    exp   { Agent/TCP set decrease_num_ 0.875 }
    default { puts stderr "exp-dumbbell.tcl: rule $cell(rule)"; exit 2 }
}

Queue/RED set bytes_ [expr {$cell(bytes) ? "true" : "false"}]
Queue/RED set queue_in_bytes_ [expr {$cell(bytes) ? "true" : "false"}]
Queue/RED set mean_pktsize_ $cell(mean)
Queue/RED set setbit_ true
Queue/RED set gentle_ true
Queue/RED set thresh_ $cell(redmin)
Queue/RED set maxthresh_ $cell(redmax)
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 10

# DropTail counts the packet in transmission in its limit.
set discipline [expr {$cell(queue) eq "red" ? "RED" : "DropTail"}]
set limit [expr {$cell(queue) eq "red" ? $cell(buffer) : $cell(buffer) + 1}]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $cell(rate)Mb [expr {$cell(rtt) / 4.0}]ms $discipline
$ns queue-limit $r1 $r2 $limit
$ns queue-limit $r2 $r1 $limit
proc route {node to by} {
    global ns
    [$node get-module Manual] add-route $to [[$ns link $node $by] head]
}
route $r1 default $r2
route $r2 default $r1
set watch [$ns monitor-queue $r1 $r2 "" 0.1]

# A flow between two routers, whose two access links have this delay (ms) each.
proc connection {a b start stop delay} {
    global ns cell
    set src [$ns node]
    set dst [$ns node]
    foreach {x y} [list $src $a $b $dst] {
        $ns duplex-link $x $y [expr {$cell(access) * $cell(rate)}]Mb ${delay}ms DropTail
        $ns queue-limit $x $y 1000000
        $ns queue-limit $y $x 1000000
    }
    foreach {leaf router} [list $src $a $dst $b] {
        route $leaf default $router
        route $router [$leaf node-addr] $leaf
    }
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $src $tcp
    $ns attach-agent $dst $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    if {$stop > 0} { $ns at $stop "$ftp stop" }
    if {$cell(rule) eq "exp"} { $ns at $start "follow $tcp -1 1" }
    if {$cell(rule) eq "stcp" && $cell(legacy) > 0} { $ns at $start "keep_legacy $tcp" }
    return $tcp
}

# Keeps the numerator of Eq. 1 current: gamma (w - w0 + sqrt(w0)), where w0 is the
# window after the last cut, or the one with which congestion avoidance begins.
set follow [expr {$cell(follow) / 1000.0}]
proc follow {tcp cuts w0} {
    global ns follow
    set w [$tcp set cwnd_]
    set now [$tcp set ncwndcuts_]
    if {$now != $cuts || $w < [$tcp set ssthresh_] || $w < $w0} { set w0 $w }
    $tcp set increase_num_ [expr {0.05 * ($w - $w0 + sqrt($w0))}]
    $ns after $follow [list follow $tcp $now $w0]
}

# Keeps Reno's rules up to the legacy window: 1 / w for each ACK, half given up at a loss.
proc keep_legacy {tcp} {
    global ns cell
    set w [$tcp set cwnd_]
    set small [expr {$w <= $cell(legacy)}]
    $tcp set increase_num_ [expr {$small ? 1.0 / $w : 0.01}]
    $tcp set decrease_num_ [expr {$small ? 0.5 : 0.875}]
    $ns after 0.01 [list keep_legacy $tcp]
}

# Mean window of the forward flows, packets: a sample every 0.1 s.
set sampled 0
set samples 0
proc sample {} {
    global ns measured sampled samples
    foreach tcp $measured { set sampled [expr {$sampled + [$tcp set cwnd_]}]; incr samples }
    $ns after 0.1 sample
}
$ns at $cell(from) sample

proc drawn {} { global cell draw; return [expr {($cell(rtt) / 4.0 + [$draw uniform 0 $cell(extra)] / 2.0) / 2.0}] }
set measured {}
if {$cell(arrivals) eq "-"} {
    for {set i 0} {$i < $cell(forward)} {incr i} { lappend measured [connection $r1 $r2 [expr {$i * $cell(apart)}] 0 [drawn]] }
    for {set i 0} {$i < $cell(back)} {incr i} { connection $r2 $r1 0.0 0 [drawn] }
    for {set i 0} {$i < $cell(late)} {incr i} { connection $r1 $r2 $cell(lateat) $cell(lateto) [drawn] }
} else {
    set file [open $cell(arrivals)]
    foreach line [split [string trim [read $file]] "\n"] {
        foreach {name at life access} $line break
        set stop [expr {$life eq "-" ? 0 : $at + $life}]
        set delay [expr {$access / 4.0}]
        switch -glob $name {
            back* { connection $r2 $r1 $at $stop $delay }
            late* { connection $r1 $r2 $at $stop $delay }
            default { lappend measured [connection $r1 $r2 $at $stop $delay] }
        }
    }
    close $file
}

# The monitor counts bytes in 32 bits, which 5 Gbit/s fill in 6 s.
set bytes 0
set counted 0
proc count_bytes {} {
    global watch bytes counted
    set now [expr {int([$watch set bdepartures_])}]
    incr bytes [expr {($now - $counted) % 4294967296}]
    set counted $now
}
proc keep_counting {} {
    global ns
    count_bytes
    $ns after 5 keep_counting
}
$ns at 0.0 keep_counting

proc totals {} {
    global ns watch measured bytes
    count_bytes
    set waiting [$watch get-pkts-integrator]
    $waiting newpoint [$ns now] [$watch set pkts_]
    set acked {}
    foreach tcp $measured { lappend acked [expr {[$tcp set ack_] + 1}] }
    return [list $bytes [$watch set pdrops_] [$watch set parrivals_] [$waiting set sum_] $acked]
}
proc minus {a b} {
    set out {}
    foreach x $a y $b { lappend out [expr {$x - $y}] }
    return $out
}

# Jain's index of numbers; 0 if all are 0.
proc jain {numbers} {
    set squares 0.0
    foreach n $numbers { set squares [expr {$squares + double($n) * $n}] }
    set sum [expr [join $numbers +]]
    return [expr {$squares > 0 ? double($sum) * $sum / ([llength $numbers] * $squares) : 0}]
}

set indices {}
proc interval {before} {
    global ns cell indices
    set now [totals]
    lappend indices [format %.4f [jain [minus [lindex $now 4] [lindex $before 4]]]]
    set rates {}
    foreach n [minus [lindex $now 4] [lindex $before 4]] { lappend rates [format %.2f [expr {$n * 8e-3 / $cell(every)}]] }
    puts stderr "[format %.2f [$ns now]] [join $rates] | [format %.3f [expr {8e-6 * ([lindex $now 0] - [lindex $before 0]) / ($cell(rate) * $cell(every))}]]\
 [format %.1f [expr {([lindex $now 3] - [lindex $before 3]) / $cell(every)}]]"
    $ns after $cell(every) [list interval $now]
}
if {$cell(every) > 0} { $ns at 0.0 {$ns after $cell(every) [list interval [totals]]} }

# The forward flows' packets at the beginning of a span, and what became of them at its end. Shares count payload, 960 of 1000 bytes, as
# the simulator's `capacity_share` does.
proc span {from to before} {
    global ns cell spans
    set acked [minus [lindex [totals] 4] $before]
    set shares {}
    foreach n $acked { lappend shares [format %.4f [expr {7.68e-3 * $n / ($cell(rate) * ($to - $from))}]] }
    set sum [format %.4f [expr [join $shares +]]]
    set others [lindex [lsort -real -decreasing [lrange $shares 1 end]] 0]
    lappend spans "{\"from\":$from,\"to\":$to,\"jain\":[format %.4f [jain $acked]],\"sum\":$sum,\"others\":$others,\"shares\":\[[join $shares ,]\]}"
}
set spans {}
foreach {from to} $cell(spans) {
    $ns at $from "\$ns at $to \[list span $from $to \[lindex \[totals\] 4\]\]"
}

$ns at $cell(from) { set first [totals] }
# After everything else of that moment.
$ns at [expr {$cell(duration) + 1e-6}] {
    set last [totals]
    set time [expr {double($cell(duration) - $cell(from))}]
    foreach {carried drops arrivals waited} [minus [lrange $last 0 3] [lrange $first 0 3]] {}
    set acked [minus [lindex $last 4] [lindex $first 4]]
    set more ""
    if {$spans ne ""} { append more ",\"spans\":\[[join $spans ,]\]" }
    if {$indices ne ""} { append more ",\"indices\":\[[join $indices ,]\]" }
    puts "{\"utilization\":[format %.4f [expr {8e-6 * $carried / ($cell(rate) * $time)}]],\"drops\":$drops,\
\"drop_share\":[format %.6f [expr {$drops / double($arrivals)}]],\"mean_queue_packets\":[format %.2f [expr {$waited / $time}]],\
\"window_packets\":[format %.2f [expr {$sampled / $samples}]],\"jain\":[format %.4f [jain $acked]],\"delivered\":\[[join $acked ,]\]$more}"
    exit 0
}
$ns run
