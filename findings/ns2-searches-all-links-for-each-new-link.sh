#!/usr/bin/env bash
# ns-2 searches a list of all links for each new link, although the script asks for no animation: n duplex links take n * n comparisons. The list
# is the order in which the animator nam draws the links; nothing else reads it. With 5000 links at one node, the search is half or more of
# the processor time of the topology. A comparison of simulators over many flows then measures a list for pictures.
# An empty method of the same name, one line of the script, ends it. The packets of the simulation stay the same.
# Cause: Simulator::register-nam-linkconfig in tcl/lib/ns-lib.tcl is called for each link, and does not ask whether nam has a trace. For each
# duplex link it looks once for the link and once for its other direction, each time through the whole list.
# Versions: ns2 2.35+dfsg-5 of Debian bookworm. Control: the same scripts with the empty method.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Unpacks packages of a release of Debian and all that they depend on into $work/root. Nothing is installed.
unpack() {
    local apt=$work/apt archive package
    archive=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' 'Created-By: Packages' |
        awk '$2 == "Debian" && $1 !~ /security/ { print $1; exit }')
    mkdir -p "$apt"/{lists,archives}/partial "$work"/root/usr/{bin,sbin,lib,lib64}
    : > "$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $1 main" > "$apt/sources.list"
    local get=(apt-get -qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State="$apt"
        -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" -o APT::Sandbox::User="$(id -un)"
        -o Debug::NoLocking=true)
    "${get[@]}" update
    "${get[@]}" install --download-only --yes --no-install-recommends "${@:2}"
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$work/root/$name"; done
    for package in "$apt"/archives/*.deb; do
        dpkg --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --no-same-owner --directory "$work/root"
    done
}

# The command line that runs a program with the unpacked libraries.
run=("$work/root/lib64/ld-linux-x86-64.so.2" --library-path "$work/root/usr/lib/x86_64-linux-gnu")

unpack bookworm ns2=2.35+dfsg-5
export TCL_LIBRARY=$work/root/usr/share/tcltk/tcl8.6
ns() { nice -n 5 "${run[@]}" "$work/root/usr/bin/ns" "$@"; }
# A star of links; METHOD is "own" or "empty".
cat > "$work/star.tcl" <<'TCL'
proc star {links method} {
    global ns leaf
    if {$method == "empty"} {
        Simulator instproc register-nam-linkconfig link {}
    }
    set ns [new Simulator]
    set hub [$ns node]
    for {set i 0} {$i < $links} {incr i} {
        set leaf($i) [$ns node]
        $ns duplex-link $leaf($i) $hub 10Mb 1ms DropTail
    }
}
TCL
# Prints how many elements the searches of lists have compared.
cat > "$work/count.tcl" <<'TCL'
source [file dirname [info script]]/star.tcl
set compared 0
rename lsearch search
proc lsearch {list value} {
    global compared
    set position [search $list $value]
    incr compared [expr {$position < 0 ? [llength $list] : $position + 1}]
    return $position
}
eval star $argv
puts $compared
TCL
# Prints the processor time of the topology in seconds.
cat > "$work/time.tcl" <<'TCL'
source [file dirname [info script]]/star.tcl
proc processor {} {
    set file [open /proc/self/stat]
    set fields [read $file]
    close $file
    return [expr {[lindex $fields 13] + [lindex $fields 14]}]
}
set start [processor]
eval star $argv
puts [format %.1f [expr {([processor] - $start) / 100.0}]]
TCL
# Writes the events of the packets of eight transfers.
cat > "$work/packets.tcl" <<'TCL'
source [file dirname [info script]]/star.tcl
eval star 16 $argv
$ns trace-all stdout
for {set i 0} {$i < 8} {incr i} {
    set link [$ns link $leaf($i) [$ns get-node-by-id 0]]
    $ns trace-queue $leaf($i) [$ns get-node-by-id 0] stdout
    set sender [$ns create-connection TCP/Sack1 $leaf($i) TCPSink/Sack1 $leaf([expr {$i + 8}]) $i]
    $ns at 0.0 "[$sender attach-app FTP] produce 500"
}
$ns at 20.0 "exit 0"
$ns run
TCL
version=$(ns <(echo 'puts [ns-version]'))
echo "ns-2 $version"
[ "$version" = 2.35 ]
changed() { echo "$1 has changed" >&2; exit 1; }
for links in 250 500 1000; do
    own=$(ns "$work/count.tcl" "$links" own)
    empty=$(ns "$work/count.tcl" "$links" empty)
    echo "$links links: $own comparisons, with the empty method $empty"
    [ "$empty" -lt "$links" ] || changed "the control"
    [ "$own" = $((links * links)) ] || changed "the behaviour"
done
own=$(ns "$work/packets.tcl" own | tee "$work/own" | wc -l)
ns "$work/packets.tcl" empty > "$work/empty"
echo "a simulation with either method: $own events of packets, $(cmp "$work/own" "$work/empty" && echo the same)"
{ [ "$own" -gt 10000 ] && cmp --quiet "$work/own" "$work/empty"; } || changed "the control"
own=$(ns "$work/time.tcl" 5000 own)
empty=$(ns "$work/time.tcl" 5000 empty)
echo "5000 links: $own s of processor time, with the empty method $empty s"
awk "BEGIN { exit !($own > 1.25 * $empty) }" || changed "the behaviour"
echo "as described: n links cost n * n comparisons, for a list that only an animation reads"
