# The window of one ns-2 flow over time, described by "key value" pairs on the
# command line, a line a sample on standard output:
#
#   ns windows.tcl rule bic rate 100 rtt 100 buffer 200 ssthresh 300 duration 30
#
# prints time|acks|cwnd|ssthresh|cuts: seconds, packets acknowledged, packets,
# packets, reductions so far.

# Defaults; units in the comment.
array set cell {
    rule      bic
    receiver  every
    rate      100
    rtt       100
    buffer    200
    ssthresh  300
    duration  30
    sample    5
}
# rule      a congestion control of Agent/TCP/Linux (bic, highspeed, scalable,
#           htcp ...), or ns2-highspeed: Agent/TCP/Sack1 with windowOption_ 8
# receiver  every (an ACK per packet) | delayed (100 ms)
# rate      Mbit/s of the only link, 1000 bytes a packet
# rtt       ms, two-way propagation
# buffer    packets waiting
# ssthresh  initial, packets; Agent/TCP/Linux has none: it starts slowly until
#           its first loss
# duration  s
# sample    ms between samples

foreach {key value} $argv {
    if {![info exists cell($key)]} {
        puts stderr "windows.tcl: no option \"$key\"; there are [lsort [array names cell]]"
        exit 2
    }
    set cell($key) $value
}

set ns [new Simulator]
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2

if {$cell(rule) eq "ns2-highspeed"} {
    Agent/TCP set windowOption_ 8
    set tcp [new Agent/TCP/Sack1]
} else {
    set tcp [new Agent/TCP/Linux]
    $tcp set timestamps_ true
    $ns at 0 "$tcp select_ca $cell(rule)"
}
set sink [new [expr {$cell(receiver) eq "delayed" ? "Agent/TCPSink/Sack1/DelAck" : "Agent/TCPSink/Sack1"}]]
$sink set ts_echo_rfc1323_ true

# DropTail counts the packet in transmission in its limit.
set src [$ns node]
set dst [$ns node]
$ns duplex-link $src $dst $cell(rate)Mb [expr {$cell(rtt) / 2.0}]ms DropTail
$ns queue-limit $src $dst [expr {$cell(buffer) + 1}]
$ns queue-limit $dst $src 1000000
$ns attach-agent $src $tcp
$ns attach-agent $dst $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$tcp set ssthresh_ $cell(ssthresh)"
$ns at 0.001 "$ftp start"

proc sample {} {
    global ns tcp cell
    puts [format "%.3f|%d|%.3f|%.3f|%d" [$ns now] [expr {[$tcp set ack_] + 1}] [$tcp set cwnd_] \
        [$tcp set ssthresh_] [$tcp set ncwndcuts_]]
    $ns after [expr {$cell(sample) / 1000.0}] sample
}
puts "time|acks|cwnd|ssthresh|cuts"
$ns at 0.01 sample
$ns at $cell(duration) "exit 0"
$ns run
