# Slow start alone on the dumbbell of Liu's thesis, chapter 3: Sack1 with the TCP settings of Table 3.1.
# ns jump-single.tcl RATE_MBIT DELAY_MS BUFFER QUEUE SIZE...     QUEUE is DropTail or RED
# prints a line for each transfer size: packets, seconds from the end of the handshake to the last acknowledgement, drops, and packets
# offered to the bottleneck (the SYN among them).
if {[llength $argv] < 5} { puts stderr "usage: RATE_MBIT DELAY_MS BUFFER DropTail|RED SIZE..."; exit 2 }
foreach {rate delay buffer queue} [lrange $argv 0 3] break

source [file join [file dirname [info script]] jump-dumbbell.tcl]
bottleneck $rate $delay $buffer $queue
set monitor [$ns monitor-queue $r1 $r2 ""]

Agent/TCP instproc done {} {
    global ns began handshake monitor size
    puts [format "%d %.6f %d %d" $size [expr [$ns now] - $began - $handshake] [$monitor set pdrops_] [$monitor set parrivals_]]
    $ns at [expr [$ns now] + 10] next
}
set sizes [lrange $argv 4 end]
proc next {} {
    global ns sizes size began r1 r2 monitor
    if {[llength $sizes] == 0} { exit 0 }
    set size [lindex $sizes 0]
    set sizes [lrange $sizes 1 end]
    foreach {tcp ftp} [transfer $r1 $r2] break
    $ns compute-routes
    $monitor reset
    set began [$ns now]
    $ftp produce $size
}
$ns at 0 next
$ns run
