# Slow start alone on the dumbbell of Liu's thesis, chapter 3: Sack1 with the TCP settings of Table 3.1.
# ns jump-single.tcl RATE_MBIT DELAY_MS BUFFER QUEUE SIZE...     QUEUE is DropTail or RED
# prints a line for each transfer size: packets, seconds from the end of the handshake to the last acknowledgement, drops, and packets
# offered to the bottleneck (the SYN among them).
if {[llength $argv] < 5} { puts stderr "usage: RATE_MBIT DELAY_MS BUFFER DropTail|RED SIZE..."; exit 2 }
foreach {rate delay buffer queue} [lrange $argv 0 3] break

Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 10000
Agent/TCP set maxcwnd_ 10000
Agent/TCP set windowInit_ 3
Agent/TCP set minrto_ 1
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
# Thresholds of chapter 4, 0.1 and 0.3 BDP: chapter 3 gives none.
set bdp [expr $rate * (2.0 * $delay + 4) * 1000 / (8 * 1500)]
Queue/RED set thresh_ [expr 0.1 * $bdp]
Queue/RED set maxthresh_ [expr 0.3 * $bdp]
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 10
Queue/RED set gentle_ true

set ns [new Simulator]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 ${rate}Mb ${delay}ms $queue
# ns-2 counts the packet in transmission as waiting.
$ns queue-limit $r1 $r2 [expr $buffer + 1]
$ns queue-limit $r2 $r1 [expr $buffer + 1]
set monitor [$ns monitor-queue $r1 $r2 ""]

Agent/TCP instproc done {} {
    global ns began handshake monitor size
    puts [format "%d %.6f %d %d" $size [expr [$ns now] - $began - $handshake] [$monitor set pdrops_] [$monitor set parrivals_]]
    $ns at [expr [$ns now] + 10] next
}
# A SYN and its answer, 40 bytes each, over two side links and the bottleneck.
set handshake [expr 0.002 * ($delay + 2) + 2 * 320 * (1e-6 / $rate + 2e-6 / 2500)]
set sizes [lrange $argv 4 end]
proc next {} {
    global ns sizes size began r1 r2 monitor
    if {[llength $sizes] == 0} { exit 0 }
    set size [lindex $sizes 0]
    set sizes [lrange $sizes 1 end]
    set s [$ns node]
    set d [$ns node]
    foreach {node router} [list $s $r1 $d $r2] {
        $ns duplex-link $node $router 2500Mb 1ms DropTail
        $ns queue-limit $node $router 5000
        $ns queue-limit $router $node 5000
    }
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    $ns compute-routes
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $monitor reset
    set began [$ns now]
    $ftp produce $size
}
$ns at 0 next
$ns run
