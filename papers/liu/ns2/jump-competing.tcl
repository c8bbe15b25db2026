# 100 slow-start transfers each way over the dumbbell of Liu's thesis, one every INTERVAL (section 3.3.2).
# ns jump-competing.tcl RATE_MBIT BUFFER QUEUE SEED PACKETS INTERVAL_MS...     QUEUE is DropTail or RED; RED draws with SEED
# prints a line for each interval: milliseconds, median seconds from the end of the handshake to the last acknowledgement, and the
# share of data packets offered to the bottlenecks that was dropped there.
if {[llength $argv] < 6} { puts stderr "usage: RATE_MBIT BUFFER DropTail|RED SEED PACKETS INTERVAL_MS..."; exit 2 }
foreach {rate buffer queue seed packets} [lrange $argv 0 4] break

if {[llength $argv] > 6} {
    # One simulator for each interval.
    foreach interval [lrange $argv 5 end] {
        puts [exec ns [info script] $rate $buffer $queue $seed $packets $interval]
    }
    exit 0
}
set interval [lindex $argv 5]

source [file join [file dirname [info script]] jump-dumbbell.tcl]
seed $seed
bottleneck $rate 30 $buffer $queue
set there [$ns monitor-queue $r1 $r2 ""]
set back [$ns monitor-queue $r2 $r1 ""]

# The end of a handshake, after the SYN has waited in the queue: looked for every 0.1 ms, first when an empty path has passed it. The SYN
# is packet 0, and ack_ is -1 until it is acknowledged.
proc established {tcp} {
    global ns up
    if {[$tcp set ack_] >= 0} {
        set up($tcp) [$ns now]
    } else {
        $ns at [expr {[$ns now] + 1e-4}] "established $tcp"
    }
}
set times {}
set sent 0
Agent/TCP instproc done {} {
    global ns up times sent there back
    lappend times [expr [$ns now] - $up($self)]
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
        foreach {tcp ftp} [transfer $near $far] break
        set at [expr $i * $interval * 0.001]
        $ns at $at "$ftp produce $packets"
        $ns at [expr {$at + $handshake + 1e-6}] "established $tcp"
    }
}
$ns run
