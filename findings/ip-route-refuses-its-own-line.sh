#!/usr/bin/env bash
# `ip route` refuses a line that it has printed. The usual way to raise the initial window of a route takes the printed line and adds a word:
# `ip route change $(ip route show default) initcwnd 20`. For a route with a least retransmission timeout it fails: `rto_min 40ms`, as
# given, is printed as `rto_min lock 40ms`, and that is refused. The JSON does not help: it has no lock of any metric, so that a copy made from
# `mtu lock 1400` has path MTU discovery again.
# Cause: iproute2's ip/iproute.c. The parser sets the lock of rto_min by itself and reads no word `lock` there, unlike for mtu or ssthresh;
# print_rta_metrics() prints every lock in text, and none in JSON.
# Versions: iproute2 6.15.0-1 of Debian trixie. Control: the same route without rto_min is taken, with its locks.
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

unpack trixie iproute2=6.15.0-1
ip=("${run[@]}" "$work/root/usr/sbin/ip")
version=$("${ip[@]}" -V)
echo "$version"
[[ $version = *iproute2-6.15.0* ]]
# Makes a default route with these metrics in a new namespace; prints it as text and as JSON, and the result of the change with its line.
copy() {
    unshare --user --map-root-user --net bash -euc '
        ip() { "${run[@]}" "$@"; }
        metrics=$1 run=("${@:2}")
        ip link set lo up
        ip address add 10.9.0.1/24 dev lo
        ip route add default via 10.9.0.2 dev lo $metrics
        ip route show default
        ip -json route show default
        echo
        ip route change $(ip route show default) initcwnd 20 2>&1 && ip route show default || echo "refused"
    ' -- "$1" "${ip[@]}"
}
without=$(copy "mtu lock 1400 ssthresh lock 40")
with=$(copy "mtu lock 1400 rto_min 40ms ssthresh lock 40")
printf 'without rto_min:\n%s\n\nwith rto_min:\n%s\n' "$without" "$with"
[[ $without = *"mtu lock 1400 ssthresh lock 40 initcwnd 20"* && $without != *refused* ]] || { echo "the control has changed" >&2; exit 1; }
[[ $with = *"rto_min lock 40ms"*refused && $with != *"initcwnd 20"* ]] || { echo "the behaviour has changed" >&2; exit 1; }
json=$(grep '^\[' <<< "$with")
[[ $json = *'"mtu":1400'* && $json != *lock* ]] || { echo "the behaviour of the JSON has changed" >&2; exit 1; }
echo "as described: ip route refuses its own line, and its JSON has no locks"
