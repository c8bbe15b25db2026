# XCP flows over one bottleneck in ns-2:
#
#   ns xcp.tcl rate 10 rtt 100 flows 2 later 20 duration 40
#
# prints one JSON object: utilisation of the bottleneck, its mean queue and drops, and packets delivered by each flow by the
# end of each second.
#
#   src_i --1 Gbit/s-- r1 --rate, rtt/2-- r2 --1 Gbit/s-- dst_i

array set cell {
    rate      10
    rtt       100
    flows     1
    buffer    125
    stagger   0
    duration  20
}
# rate      Mbit/s of the bottleneck
# rtt       ms, two-way propagation
# buffer    packets of 1000 bytes waiting at the bottleneck
# stagger   s between the starts of consecutive flows

foreach {key value} $argv {
    if {![info exists cell($key)]} { puts stderr "xcp.tcl: no option \"$key\""; exit 2 }
    set cell($key) $value
}

Queue/XCP set tcp_xcp_on_ 0
Agent/TCP/Reno/XCP set packetSize_ 960
Agent/TCP/Reno/XCP set window_ 100000
Agent/TCP/Reno/XCP set windowInit_ 2
Agent/TCP/Reno/XCP set overhead_ 0
Agent/TCP/Reno/XCP set tcpTick_ 0.001

set ns [new Simulator]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 [expr {$cell(rate)}]Mb [expr {$cell(rtt) / 2.0}]ms XCP
foreach {a b} [list $r1 $r2 $r2 $r1] {
    $ns queue-limit $a $b [expr {$cell(buffer) + 1}]
    [[$ns link $a $b] queue] set-link-capacity [expr {$cell(rate) * 1e6}]
}
set monitor [$ns monitor-queue $r1 $r2 [open /dev/null w]]
for {set i 0} {$i < $cell(flows)} {incr i} {
    set src [$ns node]
    set dst [$ns node]
    foreach {a b} [list $src $r1 $r2 $dst] {
        $ns duplex-link $a $b 1Gb 0ms XCP
        foreach {x y} [list $a $b $b $a] {
            $ns queue-limit $x $y 100000
            [[$ns link $x $y] queue] set-link-capacity 1e9
        }
    }
    set tcp($i) [new Agent/TCP/Reno/XCP]
    set sink [new Agent/TCPSink/XCPSink]
    $ns attach-agent $src $tcp($i)
    $ns attach-agent $dst $sink
    $ns connect $tcp($i) $sink
    set ftp [$tcp($i) attach-app FTP]
    $ns at [expr {$i * $cell(stagger)}] "$ftp start"
    set delivered($i) {}
}
proc sample {} {
    global ns tcp cell delivered
    for {set i 0} {$i < $cell(flows)} {incr i} { lappend delivered($i) [expr {max(0, [$tcp($i) set ack_])}] }
    $ns at [expr {[$ns now] + 1}] sample
}
set integral [$monitor get-bytes-integrator]
proc finish {} {
    global monitor integral cell delivered
    set rows {}
    for {set i 0} {$i < $cell(flows)} {incr i} { lappend rows "\[[join $delivered($i) {, }]\]" }
    set bytes [$monitor set bdepartures_]
    set used [expr {$bytes * 8.0 / ($cell(rate) * 1e6 * $cell(duration))}]
    set queue [expr {[$integral set sum_] / 1000.0 / $cell(duration)}]
    puts [format {{"utilization": %.4f, "mean_queue": %.2f, "drops": %d, "delivered": [%s]}} $used $queue [$monitor set pdrops_] [join $rows {, }]]
    exit 0
}
$ns at 1 sample
$ns at [expr {$cell(duration)}] finish
$ns run
