#!/usr/bin/env bash
# iperf3 -n BYTES, the option to send a given amount, ends with the reporting interval, not with the last byte: on the loopback device 10 KB, 1 MB
# and 10 MB all take 1.00 s, so that the report has 1.05, 8.4 and 84 Mbit/s for a path of several Gbit/s. The summary's rate is the amount over
# one second for whatever ends sooner, and the same of both ends. It is no measurement of a short transfer; with -i 0.1 all are ten times
# "faster". 10 KB are 131,072 bytes besides, since whole blocks are sent.
# Cause: each stream has a thread of its own; iperf_run_client() in src/iperf_client_api.c waits in select() for its next timer, and only then
# compares the bytes sent with the amount.
# Versions: iperf3 3.18-2+deb13u2 of Debian trixie. Control: -t 1 on the same path has more than 1 Gbit/s.
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

unpack trixie iperf3=3.18-2+deb13u2
iperf3() { "${run[@]}" "$work/root/usr/bin/iperf3" "$@"; }
iperf3 --version | head -1
[ "$(iperf3 --version | awk 'NR == 1 { print $2 }')" = 3.18 ]
cat > "$work/check.py" <<'PYTHON'
import json
import sys

name, low, high, slowest, fastest = sys.argv[1], *map(float, sys.argv[2:])
total = json.load(sys.stdin)["end"]["sum_received"]
seconds, rate = total["seconds"], total["bits_per_second"] / 1e6
print(f"{name}: {total['bytes']} bytes in {seconds:.3f} s, {rate:.2f} Mbit/s")
if not (low <= seconds <= high and slowest <= rate <= fastest):
    sys.exit("the control has changed" if name.startswith("-t") else "the behaviour has changed")
PYTHON
# Options, seconds from and to, Mbit/s from and to.
while read -r options limits; do
    iperf3 --server --one-off --bind 127.0.0.1 --port 5299 > /dev/null &
    server=$!
    for _ in {1..50}; do
        if ss --no-header --listening --tcp --numeric "sport = :5299" | grep --quiet .; then break; fi
        sleep 0.1
    done
    # shellcheck disable=SC2086
    iperf3 --client 127.0.0.1 --port 5299 --json ${options//_/ } > "$work/report"
    # shellcheck disable=SC2086
    python3 "$work/check.py" "${options//_/ }" $limits < "$work/report"
    wait "$server"
done <<'CASES'
-t_1 0.9 1.5 1000 1000000
-n_10K 0.95 1.2 0.8 1.2
-n_1M 0.95 1.2 7 9
-n_10M 0.95 1.2 68 90
-n_1M_-i_0.1 0.08 0.3 25 110
CASES
echo "as described: every short transfer takes one reporting interval"
