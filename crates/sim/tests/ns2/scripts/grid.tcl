# Reading the grid and running its cells; sourced by the scripts beside it.

set here [file dirname [file normalize [info script]]]

# The rows of a table with "|" between columns and a heading line, "#" lines
# left out, as a list of dictionaries.
proc read_table {path} {
    set file [open $path]
    set heading {}
    set rows {}
    foreach line [split [read $file] "\n"] {
        if {$line eq "" || [string index $line 0] eq "#"} continue
        set values [split $line "|"]
        if {$heading eq ""} {
            set heading $values
            continue
        }
        if {[llength $values] != [llength $heading]} {
            error "$path: \"$line\" has [llength $values] columns, the heading [llength $heading]"
        }
        set row {}
        foreach key $heading value $values { lappend row $key $value }
        lappend rows $row
    }
    close $file
    return $rows
}

# Runs a cell, with further options that win over its own: total packets
# delivered, drops at the bottleneck, and the object that dumbbell.tcl printed.
proc run_cell {cell args} {
    global here
    array set option $cell
    array set option $args
    array unset option id
    array unset option runs
    set json [eval exec ns [list [file join $here dumbbell.tcl]] [array get option]]
    if {![regexp {"delivered":\[([0-9,]+)\].*"drops":([0-9]+)} $json -> delivered drops]} {
        error "dumbbell.tcl answered: $json"
    }
    return [list [expr [join [split $delivered ,] +]] $drops $json]
}

proc mean {values} { return [expr double([join $values +]) / [llength $values]] }

# The widest difference among the values over their mean.
proc jump {values} {
    set sorted [lsort -real $values]
    set mean [mean $values]
    return [expr {$mean > 0 ? ([lindex $sorted end] - [lindex $sorted 0]) / $mean : 0.0}]
}

# The standard error of the mean over the mean.
proc relative_error {values} {
    set mean [mean $values]
    if {$mean == 0 || [llength $values] < 2} { return 0.0 }
    set squares 0.0
    foreach value $values { set squares [expr {$squares + ($value - $mean) ** 2}] }
    set variance [expr {$squares / ([llength $values] - 1)}]
    return [expr {sqrt($variance / [llength $values]) / $mean}]
}
