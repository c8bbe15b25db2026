#!/usr/bin/env bash
# nstat prints what the counters gained since its last run, but its last run in ANOTHER network namespace counts, too. Two hosts of a lab in two
# namespaces: 200 datagrams sent on the first, nstat there: 200. 230 sent on the second, nstat there: 30. Nothing is printed to warn, and the
# retransmissions that an experiment reports are the difference of two hosts. Only a counter that fell makes nstat begin anew.
# Cause: misc/nstat.c keeps one history file for each user (/tmp/.nstat.uUID), and a namespace has counters of its own. `nstat -a` or a
# history file for each namespace (NSTAT_HISTORY) avoids it.
# Versions: iproute2 6.15.0-1 of Debian trixie. Control: a history file for each namespace.
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
version=$("${run[@]}" "$work/root/usr/bin/nstat" --version)
echo "$version"
[[ $version = *iproute2-6.15.0* ]]
cat > "$work/send.py" <<'PYTHON'
import socket
import sys

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
for _ in range(int(sys.argv[1])):
    receiver.sendto(b"x", receiver.getsockname())
PYTHON
# Sends datagrams on the loopback device of two new namespaces, one after the other, and prints what nstat counts in each.
count() {
    for case in "200 $1" "230 $2"; do
        NSTAT_HISTORY=$work/${case#* } unshare --user --map-root-user --net bash -euc '
            ip link set lo up
            python3 "$1/send.py" "$2"
            "${@:3}" UdpOutDatagrams | awk "/^UdpOutDatagrams/ { print \$2 }"
        ' -- "$work" "${case% *}" "${run[@]}" "$work/root/usr/bin/nstat"
    done | xargs
}
apart=$(count first second)
shared=$(count history history)
echo "200 datagrams in one namespace, 230 in another; a history each: $apart; one history, the default: $shared"
[ "$apart" = "200 230" ] || { echo "the control has changed" >&2; exit 1; }
[ "$shared" = "200 30" ] || { echo "the behaviour has changed" >&2; exit 1; }
echo "as described: nstat subtracts the counters of another namespace"
