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

source [file join [file dirname [info script]] jump-dumbbell.tcl]
bottleneck $rate 30 $buffer $queue
set there [$ns monitor-queue $r1 $r2 ""]
set back [$ns monitor-queue $r2 $r1 ""]

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
        foreach {tcp ftp} [transfer $near $far] break
        set began($tcp) [expr $i * $interval * 0.001]
        $ns at $began($tcp) "$ftp produce $packets"
    }
}
$ns run
