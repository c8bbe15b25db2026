# Results of ns-2 for the cells of the grid whose name matches a pattern, means
# where a cell has several runs:
#
#   ns crates/sim/tests/ns2/scripts/run.tcl 'sack-10M-*'

source [file join [file dirname [file normalize [info script]]] grid.tcl]

set pattern [expr {[llength $argv] > 0 ? [lindex $argv 0] : "*"}]
puts "id|delivered|drops"
foreach cell [read_table [file join $here grid.psv]] {
    array set is $cell
    if {![string match $pattern $is(id)]} continue
    set delivered {}
    set drops {}
    for {set seed 1} {$seed <= $is(runs)} {incr seed} {
        lassign [run_cell $cell seed $seed] packets lost
        lappend delivered $packets
        lappend drops $lost
    }
    puts "$is(id)|[mean $delivered]|[mean $drops]"
    flush stdout
}
