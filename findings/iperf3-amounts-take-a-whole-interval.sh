#!/usr/bin/env bash
# iperf3 -n BYTES, the option to send a given amount, ends with the reporting interval, not with the last byte: on the loopback device 10 MB and
# 100 MB take 1.00 s each, so that the report has 84 and 838 Mbit/s for a path of tens of Gbit/s. The rate is the amount over one second for
# whatever ends sooner, and the same in the reports of both ends. Amounts of one block take a second or a few milliseconds, by chance.
# The option measures no short transfer. 10 KB are 131,072 bytes besides, since whole blocks are sent.
# Cause: each stream has a thread of its own; iperf_run_client() in src/iperf_client_api.c waits in select() for its next timer, and only then
# compares the bytes sent with the amount.
# Versions: iperf3 3.18-2+deb13u2 of Debian trixie. Control: -t 1 on the same path has more than 2 Gbit/s.
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
cat > "$work/read.py" <<'PYTHON'
import json
import sys

total = json.load(sys.stdin)["end"]["sum_received"]
print(total["bytes"], total["seconds"], total["bits_per_second"] / 1e6)
PYTHON
# Prints bytes, seconds and Mbit/s of one transfer.
transfer() {
    iperf3 --server --one-off --bind 127.0.0.1 --port 5299 > /dev/null &
    local server=$!
    for _ in {1..50}; do
        if ss --no-header --listening --tcp --numeric "sport = :5299" | grep --quiet .; then break; fi
        sleep 0.1
    done
    iperf3 --client 127.0.0.1 --port 5299 --json "$@" > "$work/report"
    python3 "$work/read.py" < "$work/report"
    wait "$server"
}
read -r bytes seconds rate < <(transfer -t 1)
echo "-t 1: $bytes bytes in $seconds s, $rate Mbit/s"
python3 -c "import sys; sys.exit($rate < 2000 and 'the control has changed')"
read -r bytes seconds rate < <(transfer -n 10K)
echo "-n 10K: $bytes bytes in $seconds s, $rate Mbit/s"
[ "$bytes" = 131072 ] || { echo "the behaviour has changed" >&2; exit 1; }
# If the amount is reached before the first wait, which is rare at these sizes, the test ends at once.
for case in 10M:10485760 100M:104857600; do
    whole=0
    for _ in 1 2 3; do
        read -r bytes seconds rate < <(transfer -n "${case%:*}")
        echo "-n ${case%:*}: $bytes bytes in $seconds s, $rate Mbit/s"
        [ "$bytes" = "${case#*:}" ] || { echo "the behaviour has changed" >&2; exit 1; }
        whole=$((whole + $(python3 -c "print(int(0.95 < $seconds < 1.3))")))
    done
    [ "$whole" -ge 2 ] || { echo "the behaviour has changed" >&2; exit 1; }
done
echo "as described: short transfers take one reporting interval"
