# The dumbbell of chapter 3 of Liu's thesis, with the TCP settings of Table 3.1, for the scripts that begin with jump-.

Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 10000
Agent/TCP set maxcwnd_ 10000
Agent/TCP set windowInit_ 3
Agent/TCP set minrto_ 1

set ns [new Simulator]

# Seeds are far apart: ns-2 fills its generator's whole state with the seed, and its first draws are small if the seed is.
proc seed {number} { ns-random [expr {($number * 1103515245 + 12345) % 2147483647}] }

# The bottleneck between r1 and r2, in Mbit/s, ms one way and packets that wait, and what an empty path takes for a handshake.
proc bottleneck {rate delay buffer queue} {
    global ns r1 r2 handshake
    # Thresholds of chapter 4, 0.1 and 0.3 BDP: chapter 3 gives none.
    set bdp [expr $rate * (2.0 * $delay + 4) * 1000 / (8 * 1500)]
    foreach {setting value} [list bytes_ false queue_in_bytes_ false thresh_ [expr 0.1 * $bdp] maxthresh_ [expr 0.3 * $bdp] \
            q_weight_ 0.002 linterm_ 10 gentle_ true mean_pktsize_ 1500] {
        Queue/RED set $setting $value
    }
    set r1 [$ns node]
    set r2 [$ns node]
    $ns duplex-link $r1 $r2 ${rate}Mb ${delay}ms $queue
    # ns-2 counts the packet in transmission as waiting.
    $ns queue-limit $r1 $r2 [expr $buffer + 1]
    $ns queue-limit $r2 $r1 [expr $buffer + 1]
    # A SYN and its answer, 40 bytes each, over two side links and the bottleneck.
    set handshake [expr 0.002 * ($delay + 2) + 2 * 320 * (1e-6 / $rate + 2e-6 / 2500)]
}

# A host beside each of these routers.
proc hosts {args} {
    global ns
    set all {}
    foreach router $args {
        set node [$ns node]
        $ns duplex-link $node $router 2500Mb 1ms DropTail
        $ns queue-limit $node $router 5000
        $ns queue-limit $router $node 5000
        lappend all $node
    }
    return $all
}

# A sender beside `near` with its receiver beside `far`, and the application that makes it send.
proc transfer {near far} {
    global ns
    foreach {s d} [hosts $near $far] break
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    return [list $tcp $ftp]
}
