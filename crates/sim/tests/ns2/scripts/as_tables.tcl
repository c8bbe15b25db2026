# Tables 1 and 2 of the adaptive start paper in ns-2: utilisation of the
# bottleneck by one NewReno flow in its first 20 s, initial threshold 32 packets,
# a buffer of one bandwidth-delay product.
#
#   ns crates/sim/tests/ns2/scripts/as_tables.tcl
#
# The paper does not say what it counts: 960 payload bytes of every packet of
# 1000, and no SYN, fit all ten cells; the whole packet misses four by 6 %.

source [file join [file dirname [file normalize [info script]]] grid.tcl]

array set paper {
    as1-20ms 95.6 as1-50ms 71.8 as1-100ms 23.2 as1-150ms 11.9 as1-200ms 7.2
    as2-10M  77.1 as2-20M  45.9 as2-40M   23.2 as2-100M  9.3  as2-200M  4.7
}
set payload_bits [expr {960 * 8}]
puts "cell|paper_percent|ns2_percent|difference_percent"
foreach cell [read_table [file join $here grid.psv]] {
    array set is $cell
    if {![info exists paper($is(id))]} continue
    set delivered [lindex [run_cell $cell] 0]
    set percent [expr {100.0 * $delivered * $payload_bits / ($is(rate) * 1e6 * $is(duration))}]
    puts [format "%s|%.1f|%.2f|%+.1f" $is(id) $paper($is(id)) $percent \
        [expr {100.0 * ($percent / $paper($is(id)) - 1.0)}]]
}
