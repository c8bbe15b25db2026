# 100 slow-start transfers each way over the dumbbell of Liu's thesis, one every INTERVAL (section 3.3.2).
# ns jump-competing.tcl RATE_MBIT BUFFER QUEUE PACKETS INTERVAL_MS...     QUEUE is DropTail or RED
# prints a line for each interval: milliseconds, median seconds from the end of the handshake to the last acknowledgement, and the
# share of data packets offered to the bottlenecks that was dropped there.
if {[llength $argv] < 5} { puts stderr "usage: RATE_MBIT BUFFER DropTail|RED PACKETS INTERVAL_MS..."; exit 2 }
foreach {rate buffer queue packets} [lrange $argv 0 3] break

if {[llength $argv] > 5} {
    # One simulator for each interval.
    foreach interval [lrange $argv 4 end] {
        puts [exec ns [info script] $rate $buffer $queue $packets $interval]
    }
    exit 0
}
set interval [lindex $argv 4]

Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 10000
Agent/TCP set maxcwnd_ 10000
Agent/TCP set windowInit_ 3
Agent/TCP set minrto_ 1
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
# Thresholds of chapter 4, 0.1 and 0.3 BDP: chapter 3 gives none.
set bdp [expr $rate * 64.0 * 1000 / (8 * 1500)]
Queue/RED set thresh_ [expr 0.1 * $bdp]
Queue/RED set maxthresh_ [expr 0.3 * $bdp]
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 10
Queue/RED set gentle_ true

set ns [new Simulator]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 ${rate}Mb 30ms $queue
# ns-2 counts the packet in transmission as waiting.
$ns queue-limit $r1 $r2 [expr $buffer + 1]
$ns queue-limit $r2 $r1 [expr $buffer + 1]
set there [$ns monitor-queue $r1 $r2 ""]
set back [$ns monitor-queue $r2 $r1 ""]

# A SYN and its answer, 40 bytes each, over two side links and the bottleneck, all of them empty.
set handshake [expr 0.064 + 2 * 320 * (1e-6 / $rate + 2e-6 / 2500)]
set times {}
set sent 0
Agent/TCP instproc done {} {
    global ns began handshake times sent there back
    lappend times [expr [$ns now] - $began($self) - $handshake]
    incr sent [$self set ndatapack_]
    if {[llength $times] == 200} {
        set sorted [lsort -real $times]
        set median [expr ([lindex $sorted 99] + [lindex $sorted 100]) / 2]
        set drops [expr [$there set pdrops_] + [$back set pdrops_]]
        puts [format "%s %.6f %.6f" $::interval $median [expr double($drops) / $sent]]
        exit 0
    }
}
for {set i 0} {$i < 100} {incr i} {
    foreach {near far} [list $r1 $r2 $r2 $r1] {
        set s [$ns node]
        set d [$ns node]
        foreach {node router} [list $s $near $d $far] {
            $ns duplex-link $node $router 2500Mb 1ms DropTail
            $ns queue-limit $node $router 5000
            $ns queue-limit $router $node 5000
        }
        set tcp [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1]
        $ns attach-agent $s $tcp
        $ns attach-agent $d $sink
        $ns connect $tcp $sink
        set ftp [new Application/FTP]
        $ftp attach-agent $tcp
        set began($tcp) [expr $i * $interval * 0.001]
        $ns at $began($tcp) "$ftp produce $packets"
    }
}
$ns run
