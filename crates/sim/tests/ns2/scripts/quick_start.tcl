# One Quick-Start connection in ns-2, after `busy` Mbit/s of cross traffic have run for two seconds:
#
#   ns quick_start.tcl rate 10 rtt 100 size 100
#
# prints one JSON object: the packets that left before the first ACK of data, and the time from the SYN to the last ACK.
#
#   src --1 Gbit/s-- r1 --rate, rtt/2-- r2 --1 Gbit/s-- dst

array set cell {
    rate      10
    rtt       100
    size      1000
    buffer    1000
    busy      0
    duration  20
    deaf      0
}
# rate      Mbit/s of the bottleneck
# rtt       ms, two-way propagation
# size      packets of 1000 bytes on the wire to send
# buffer    packets waiting at the bottleneck
# busy      Mbit/s of a constant-rate source over the bottleneck, from 0 s on
# deaf      1: the bottleneck's router does not take part

foreach {key value} $argv {
    if {![info exists cell($key)]} { puts stderr "quick_start.tcl: no option \"$key\""; exit 2 }
    set cell($key) $value
}

Agent/TCP set qs_enabled_ true
Agent/TCPSink set qs_enabled_ true
Agent/TCP set rate_request_ 160000  ;# 1024 bytes/s: the largest that is asked for
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 3
Agent/TCP set overhead_ 0
# Exact clocks: the window is the grant times the RTT.
Agent/TCP set tcpTick_ 0.0001

set ns [new Simulator]
Node enable-module "QS"
set src [$ns node]
set r1 [$ns node]
set r2 [$ns node]
set dst [$ns node]
$ns duplex-link $src $r1 1Gb 0ms DropTail
$ns duplex-link $r1 $r2 [expr {$cell(rate)}]Mb [expr {$cell(rtt) / 2.0}]ms DropTail
$ns duplex-link $r2 $dst 1Gb 0ms DropTail
foreach {a b} [list $src $r1 $r1 $r2 $r2 $dst $dst $r2 $r2 $r1 $r1 $src] { $ns queue-limit $a $b [expr {$cell(buffer) + 1}] }
if {$cell(deaf)} { [$r1 qs-agent] set qs_enabled_ 0 }

if {$cell(busy) > 0} {
    set udp [new Agent/UDP]
    $udp set packetSize_ 1000
    $ns attach-agent $src $udp
    set null [new Agent/Null]
    $ns attach-agent $dst $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ [expr {$cell(busy)}]Mb
    $cbr attach-agent $udp
    $ns at 0 "$cbr start"
}

set tcp [new Agent/TCP/Newreno]
set sink [new Agent/TCPSink]
$ns attach-agent $src $tcp
$ns attach-agent $dst $sink
$ns connect $tcp $sink

# Packets that left before the first ACK of data, the SYN not counted, and when the last ACK came.
set flight 0
set done null
proc sample {} {
    global ns tcp cell flight done
    if {[$tcp set ack_] < 1} { set flight [expr {[$tcp set t_seqno_] - 1}] }
    if {[$tcp set ack_] >= $cell(size)} {
        set done [format %.4f [expr {[$ns now] - 2}]]
        finish
    }
    $ns at [expr {[$ns now] + 0.0001}] sample
}
proc finish {} {
    global tcp flight done
    puts "{\"first_flight\": $flight, \"done_s\": $done, \"retransmits\": [$tcp set nrexmitpack_], \"acked\": [$tcp set ack_]}"
    exit 0
}
$ns at 2 "$tcp advanceby [expr {$cell(size)}]"
$ns at 2 sample
$ns at [expr {$cell(duration) + 2}] finish
$ns run
