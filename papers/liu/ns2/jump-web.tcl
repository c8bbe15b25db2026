# Web pages both ways in slow start, section 3.3.4 of Liu's thesis: ns-2's own generator with the values of Table 3.3.
# ns jump-web.tcl RATE_MBIT PAGES_WAIT SEED
#   PAGES_WAIT 1: the gap to the next page runs from the arrival of the last object (ns-2's default), 0: from the page's beginning.
# Of the transfers of more than three packets it prints: how many; the share that retransmitted something; and the durations at
# 0, 1, ... 100 per cent, seconds from the end of a handshake over an empty path to the last acknowledgement.
if {[llength $argv] != 3} { puts stderr "usage: RATE_MBIT PAGES_WAIT SEED"; exit 2 }
foreach {rate wait seed} [lrange $argv 0 2] break

source [file join [file dirname [info script]] jump-dumbbell.tcl]
bottleneck $rate 30 250 DropTail
PagePool/WebTraf set TCPTYPE_ Sack1
PagePool/WebTraf set TCPSINKTYPE_ TCPSink/Sack1
PagePool/WebTraf set dont_recycle_ 1
seed $seed

set rows {}
Class Pool -superclass PagePool/WebTraf
Pool instproc done-resp {id pid clnt svr tcp sink size sent threshold began args} {
    global ns rows handshake
    if {$sent > 3} {
        lappend rows [list [expr [$ns now] - $began - $handshake] [$tcp set nrexmitpack_]]
    }
    eval $self next $id $pid $clnt $svr $tcp $sink $size $sent $threshold $began $args
}
proc draw {kind args} {
    set v [new RandomVariable/$kind]
    foreach {key value} $args { $v set $key $value }
    return $v
}
foreach {near far} [list $r1 $r2 $r2 $r1] {
    foreach {server client} [hosts $near $far] break
    set pool [new Pool]
    $pool set-num-client 1
    $pool set-num-server 1
    $pool set-client 0 $client
    $pool set-server 0 $server
    $pool set-num-session 50
    for {set i 0} {$i < 50} {incr i} {
        $pool create-session $i 5 [expr 0.005 * $i + 0.1] [draw Exponential avg_ 0.5] \
            [draw ParetoII avg_ 4 shape_ 1.5] [draw Exponential avg_ 0.05] [draw ParetoII avg_ 4 shape_ 1.2]
    }
    $pool set-interPageOption $wait
}
proc finish {} {
    global rows
    set n [llength $rows]
    set times {}
    set lossy 0
    foreach row $rows {
        foreach {time again} $row break
        lappend times $time
        incr lossy [expr $again > 0]
    }
    set times [lsort -real $times]
    set quantiles {}
    for {set percent 0} {$percent <= 100} {incr percent} {
        # Linear between the two nearest ranks.
        set rank [expr ($n - 1) * $percent / 100.0]
        set low [expr int($rank)]
        set high [expr $low + 1 < $n ? $low + 1 : $low]
        set t [lindex $times $low]
        lappend quantiles [format %.6f [expr $t + ($rank - $low) * ([lindex $times $high] - $t)]]
    }
    puts [format "%d %.6f %s" $n [expr double($lossy) / $n] $quantiles]
    exit 0
}
$ns at 60 finish
$ns run
