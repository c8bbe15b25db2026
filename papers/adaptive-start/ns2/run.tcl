# The runs of the adaptive start paper that ns-2 can make today: one dumbbell, "key value" pairs on the command line, one JSON
# object on standard output. Run from the root of the repository:
#
#   ns papers/adaptive-start/ns2/run.tcl kind newreno rate 40 rtt 100 buffer 500 ssthresh 32
#
# Every packet is 1000 bytes on the wire and there is no SYN, as in crates/sim/tests/ns2/scripts/dumbbell.tcl.

array set is {
    kind newreno   rate 40   rtt 100   buffer 500   access 0   duration 20   ssthresh 0   iw 1
    flows 1   arrivals -   era today   minrto 0.2
    udp 0   udpstart 0.5   udpsize 1000   gamma 1   every 0
}
# kind      newreno | hoe (its own estimate of the first threshold) | vegas
# rate      Mbit/s; access Mbit/s of the links at both ends, 0 is 10 x rate
# rtt       ms, two-way propagation
# buffer    packets that wait, the one in transmission not counted
# ssthresh  packets, 0 is unlimited;  iw packets
# flows     connections from 0 s to the end
# arrivals  in their place the connections of a run here: a file with a line for each of name, start (s) and lifetime (s), as
#           `cargo run --package research-papers --bin arrivals` prints it
# era       today | 2003: NewReno as its defaults were until 5 May 2003 (timer set anew by every partial ACK, no deflation)
# udp       Mbit/s of a constant stream from udpstart (s) in packets of udpsize bytes, 0 is none
# every     s: lists time, packets delivered and the first flow's window at each multiple, 0 is not at all
foreach {key value} $argv {
    if {![info exists is($key)]} { puts stderr "run.tcl: no option \"$key\""; exit 2 }
    set is($key) $value
}
if {$is(access) == 0} { set is(access) [expr {10 * $is(rate)}] }

set ns [new Simulator]

foreach {name value} [list syn_ false delay_growth_ false packetSize_ 1000 useHeaders_ false window_ 1000000 \
        windowInit_ $is(iw) minrto_ $is(minrto)] {
    Agent/TCP set $name $value
}
if {$is(kind) eq "hoe"} { Agent/TCP/Newreno set newreno_changes_ 1 }
if {$is(era) eq "2003"} {
    Agent/TCP/Newreno set newreno_changes1_ 0
    Agent/TCP/Newreno set partial_window_deflation_ 0
}
Agent/TCP/Vegas set v_gamma_ $is(gamma)

set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 $is(rate)Mb [expr {$is(rtt) / 4.0}]ms DropTail
$ns simplex-link $r2 $r1 $is(rate)Mb [expr {$is(rtt) / 4.0}]ms DropTail
$ns queue-limit $r1 $r2 [expr {$is(buffer) + 1}]
$ns queue-limit $r2 $r1 1000000

proc end_pair {} {
    global ns is r1 r2
    set src [$ns node]
    set dst [$ns node]
    foreach {a b} [list $src $r1 $r2 $dst] {
        $ns duplex-link $a $b $is(access)Mb [expr {$is(rtt) / 8.0}]ms DropTail
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    return [list $src $dst]
}

set drops [new QueueMonitor]
set tap [new SnoopQueue/Drop]
$tap set-monitor $drops
set bottleneck [$ns link $r1 $r2]
$tap target [$bottleneck set drophead_]
[$bottleneck queue] drop-target $tap

array set class {newreno Agent/TCP/Newreno hoe Agent/TCP/Newreno vegas Agent/TCP/Vegas}
set lives [lrepeat $is(flows) {0.0 -}]
if {$is(arrivals) ne "-"} {
    set file [open $is(arrivals)]
    set lives {}
    foreach line [split [string trim [read $file]] "\n"] { lappend lives [lrange $line 1 2] }
    close $file
    set is(flows) [llength $lives]
}
for {set i 0} {$i < $is(flows)} {incr i} {
    foreach {at lifetime} [lindex $lives $i] break
    foreach {src dst} [end_pair] {}
    set tcp($i) [new $class($is(kind))]
    set sink [new Agent/TCPSink]
    $ns attach-agent $src $tcp($i)
    $ns attach-agent $dst $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    # "start" resets an agent, so its threshold is set when it runs.
    $ns at $at "$ftp start"
    if {$is(ssthresh) > 0} { $ns at $at "$tcp($i) set ssthresh_ $is(ssthresh)" }
    # A window of 0 sends nothing more. Packets on their way are acknowledged later, and count.
    if {$lifetime ne "-"} { $ns at [expr {$at + $lifetime}] "$tcp($i) set window_ 0" }
}
if {$is(udp) > 0} {
    foreach {src dst} [end_pair] {}
    set udp [new Agent/UDP]
    set null [new Agent/Null]
    $udp set packetSize_ $is(udpsize)
    $ns attach-agent $src $udp
    $ns attach-agent $dst $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $is(udpsize)
    $cbr set rate_ $is(udp)Mb
    $cbr attach-agent $udp
    $ns at $is(udpstart) "$cbr start"
}

set grid {}
proc sample {} {
    global ns is tcp grid
    set sum 0
    for {set i 0} {$i < $is(flows)} {incr i} { incr sum [expr {[$tcp($i) set ack_] + 1}] }
    lappend grid "\[[$ns now],$sum,[$tcp(0) set cwnd_]\]"
    $ns at [expr {[$ns now] + $is(every)}] sample
}
if {$is(every) > 0} { $ns at $is(every) sample }

proc finish {} {
    global is tcp drops grid
    set each {}
    set timeouts 0
    set again 0
    for {set i 0} {$i < $is(flows)} {incr i} {
        lappend each [expr {[$tcp($i) set ack_] + 1}]
        incr timeouts [$tcp($i) set nrexmit_]
        incr again [$tcp($i) set nrexmitpack_]
    }
    puts "{\"delivered\":[expr [join $each +]],\"each\":\[[join $each ,]\],\"drops\":[expr {int([$drops set pdrops_])}],\
\"retransmits\":$again,\"timeouts\":$timeouts,\"at\":\[[join $grid ,]\]}"
    exit 0
}
$ns at [expr {$is(duration)}] finish
$ns run
