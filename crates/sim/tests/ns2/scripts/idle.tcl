# One connection with two writes and an idle time between them, on a link that
# only delays:
#
#   ns idle.tcl agent TCP/Reno/RBP idle 5
#
# It prints a line for every packet that leaves the sender from "idle" on: the
# time since then in milliseconds, its number counted from the first of the
# second write, and 1 if it is marked as droppable (Fast Start), else 0.
# Packets are 1000 bytes, the link 800 Mbit/s and 50 ms each way, an ACK for
# every packet.

# Defaults; units in the comment.
array set is {
    agent    TCP/Newreno
    first    128
    again    128
    idle     5
    until    0.5
    restart  1
    validate 0
    ssthresh 10000
    minrto   0.2
    drop     {}
    steady   0
    deflate  1
    seed     1
}
# agent     class of the sender, below Agent
# first     packets of the first write, at 0 s
# again     packets of the second
# idle      s, when the second begins
# until     s, how much of it is printed
# restart   slow_start_restart_
# validate  QOption_: congestion window validation
# ssthresh  initial, packets
# minrto    s
# drop      numbers of packets of the second write whose first copy is lost
# steady    each partial ACK restarts the timer: newreno_changes1_ 0
# deflate   partial_window_deflation_
# seed      of the phase of the sender's 10 ms clock

foreach {key value} $argv {
    if {![info exists is($key)]} {
        puts stderr "idle.tcl: no option \"$key\"; there are [lsort [array names is]]"
        exit 2
    }
    set is($key) $value
}

# The agents of Fast Start have no defaults in ns-default.tcl.
foreach class {TCP/FS TCP/Reno/FS TCP/Newreno/FS} {
    Agent/$class set fast_loss_recov_ true
    Agent/$class set fast_reset_timer_ true
    Agent/$class set count_bytes_acked_ false
    Agent/$class set fs_enable_ true
}

ns-random [expr {$is(seed) * 7919}]
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 800Mb 50ms DropTail
$ns queue-limit $left $right 100000
$ns queue-limit $right $left 100000

# No SYN, and an initial window of one, which slow start grows from.
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ 1
set tcp [new Agent/$is(agent)]
$tcp set packetSize_ 960
$tcp set window_ 100000
$tcp set slow_start_restart_ $is(restart)
$tcp set QOption_ $is(validate)
$tcp set minrto_ $is(minrto)
if {[string match TCP/Newreno* $is(agent)]} {
    $tcp set newreno_changes1_ [expr {!$is(steady)}]
    $tcp set partial_window_deflation_ $is(deflate)
}
set sink [new Agent/TCPSink]
$ns attach-agent $left $tcp
$ns attach-agent $right $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

# The link counts every packet it takes; the first write is complete by then.
if {[llength $is(drop)] > 0} {
    set list {}
    foreach number [lsort -integer $is(drop)] {lappend list [expr {$is(first) + $number}]}
    set errors [new ErrorModel/List]
    $errors droplist $list
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $left $right
}

# "run" sets every agent to its window, so a threshold has to be set after it.
$ns at 0.0 "$tcp set ssthresh_ $is(ssthresh)"
$ns at 0.0 "$ftp producemore $is(first)"
$ns at $is(idle) "$ftp producemore $is(again)"

set trace [open "|cat" r+]
$ns trace-queue $left $right $trace
proc finish {} {
    global ns trace is
    $ns flush-trace
    close $trace w
    while {[gets $trace line] >= 0} {
        lassign $line event at from to kind size flags flow source target number
        if {$event ne "+" || $kind ne "tcp" || $at < $is(idle)} continue
        puts [format "%.4f %d %d" [expr {1000 * ($at - $is(idle))}] [expr {$number - $is(first)}] \
            [string match *F* $flags]]
    }
    exit 0
}
$ns at [expr {$is(idle) + $is(until)}] finish
$ns run
