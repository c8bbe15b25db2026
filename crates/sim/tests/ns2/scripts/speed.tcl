# ns-2's speed on the two works of the benchmark, in million packet-hops per CPU
# second: every data packet and every ACK counts once for each link it crosses.
#
#   ns crates/sim/tests/ns2/scripts/speed.tcl        (about 10 s on an idle machine)
#
# Work A: 10 SACK flows, 100 Mbit/s, 100 ms, 120 s. Work B: 16 flows, 1 Gbit/s,
# 80 ms, 20 s. Both: rtts spread evenly over +-10 %, 1000-byte packets, a buffer
# of one bandwidth-delay product, an ACK per packet, all flows from time 0.

source [file join [file dirname [file normalize [info script]]] grid.tcl]

puts "work|packet_hops|cpu_s|million_hops_per_cpu_s"
foreach {work rate rtt flows duration} {
    A 100  100 10 120
    B 1000 80  16 20
} {
    set bdp [expr {$rate * $rtt / 8}]
    set json [lindex [run_cell {} kind sack rate $rate rtt $rtt buffer $bdp \
        flows $flows spread 0.1 duration $duration] 2]
    regexp {"packet_hops":([0-9]+),"cpu_s":([0-9.]+)} $json -> hops cpu
    puts [format "%s|%d|%.2f|%.2f" $work $hops $cpu [expr {$hops / $cpu / 1e6}]]
    flush stdout
}
