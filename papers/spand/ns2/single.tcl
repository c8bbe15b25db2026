# Rounds of short transfers over one bottleneck, telnet (tcplib) beside them, as scenarios/single.toml has them; TCP SPAND is not in ns-2.
#   ns single.tcl AGENT RESTART RATE(Mbit/s) RTT(ms) BUFFER(packets) CONNECTIONS SIZE(packets) SEED ARRIVALS [HALVE]
# AGENT is Reno or Newreno. RESTART: 0 keeps the window over idle times, 1 is ns-2's slow_start_restart_. SEED is that of telnet.
# ARRIVALS is a file of the connections of a run here, as the example `arrivals` of firstflight-reproduce prints it: the first CONNECTIONS
# of the flow `bursty` begin when they do here. HALVE 1 sets ssthresh back to
# the maximum window before each round. Prints the mean completion time of all rounds but the first, s.
if {[llength $argv] < 9} { puts stderr "usage: AGENT RESTART RATE RTT BUFFER CONNECTIONS SIZE SEED ARRIVALS \[HALVE\]"; exit 2 }
foreach {agent restart rate rtt buffer connections size seed arrivals} $argv break
set restore [expr {[llength $argv] > 9 && [lindex $argv 9]}]
set starts {}
set file [open $arrivals]
foreach line [split [read $file] "\n"] {
    if {[string match "bursty.*" $line]} { lappend starts [lindex $line 1] }
}
close $file
if {[llength $starts] < $connections} { puts stderr "single.tcl: $arrivals has [llength $starts] connections, expected $connections"; exit 2 }
# Far apart: ns-2 fills its generator's whole state with the seed, and its first draws are small if the seed is.
ns-random [expr {($seed * 1103515245 + 12345) % 2147483647}]
set ns [new Simulator]
set period 30.0
set rounds 20

Agent/TCP set packetSize_ 1040
Agent/TCP set useHeaders_ false
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set singledup_ 0
Agent/TCP set windowInit_ 1
Agent/TCP set window_ 100
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 0.2
Agent/TCP set slow_start_restart_ true

set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 ${rate}Mb [expr {$rtt / 2.0}]ms DropTail
# ns-2 counts the packet in transmission.
$ns queue-limit $r1 $r2 [expr {$buffer + 1}]
$ns queue-limit $r2 $r1 100000

proc ends {r1 r2 rate} {
    global ns
    set a [$ns node]
    set b [$ns node]
    $ns duplex-link $a $r1 [expr {10 * $rate}]Mb 0ms DropTail
    $ns duplex-link $r2 $b [expr {10 * $rate}]Mb 0ms DropTail
    $ns queue-limit $a $r1 100000
    $ns queue-limit $r2 $b 100000
    return [list $a $b]
}
proc connect {agent} {
    global ns r1 r2 rate
    foreach {a b} [ends $r1 $r2 $rate] break
    set tcp [new Agent/TCP/$agent]
    set sink [new Agent/TCPSink]
    $ns attach-agent $a $tcp
    $ns attach-agent $b $sink
    $ns connect $tcp $sink
    return $tcp
}

set sum 0.0
set count 0
set unfinished 0
Agent/TCP instproc done {} {
    global ns began sum count unfinished
    if {![info exists began($self)]} return
    foreach {round at} $began($self) break
    unset began($self)
    incr unfinished -1
    if {$round > 0} {
        set sum [expr {$sum + [$ns now] - $at}]
        incr count
    }
}
proc begin {tcp round} {
    global ns began size unfinished restore
    # Of rounds that run into each other only the newest would be timed; none do in the cells that are run.
    if {[info exists began($tcp)]} { puts stderr "round $round of $tcp begins before the one before it ended" }
    set began($tcp) [list $round [$ns now]]
    incr unfinished
    if {$restore} { $tcp set ssthresh_ 100 }
    $tcp advanceby $size
}
foreach start [lrange $starts 0 [expr {$connections - 1}]] {
    set tcp [connect $agent]
    $tcp set slow_start_restart_ $restart
    for {set k 0} {$k < $rounds} {incr k} { $ns at [expr {$start + $k * $period}] "begin $tcp $k" }
}
for {set i 0} {$i < 5} {incr i} {
    set tcp [connect Reno]
    $tcp set window_ 20
    set telnet [new Application/Telnet]
    $telnet attach-agent $tcp
    $telnet set interval_ 0
    $ns at 0 "$telnet start"
}
$ns at 610 {
    puts [format "%.4f %d unfinished %d" [expr {$sum / $count}] $count $unfinished]
    exit 0
}
$ns run
