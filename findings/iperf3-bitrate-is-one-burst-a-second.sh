#!/usr/bin/env bash
# iperf3 -b 1M over TCP, which should be a slow, even stream, is a burst of 131,072 bytes each 1.05 s and silence between: the rate is kept on
# average, by whole blocks, and a block has 128 KB. An application that is "limited to 1 Mbit/s" thus fills the congestion window once a
# second after a pause longer than any RTO, so that a test of a slow background flow, of pacing or of a window after idle measures restarts.
# At 10 Mbit/s it is a burst each 105 ms. With -l 1460 the stream is as even as one expects.
# Cause: iperf_check_throttle() in src/iperf_api.c compares the average with the target after each block, and sleeps until they are equal.
# Versions: iperf3 3.18-2+deb13u2 of Debian trixie. Control: the same rate with -l 1460.
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

report = json.load(sys.stdin)
options, tenths = sys.argv[1], [interval["sum"]["bytes"] for interval in report["intervals"]][:30]
print(f"{options}: bytes of each 0.1 s {tenths}")
if not 0.9e6 < report["end"]["sum_received"]["bits_per_second"] < 1.1e6:
    sys.exit("the control has changed: the average is not 1 Mbit/s")
silent = sum(count == 0 for count in tenths)
if "-l" in options and (silent > 3 or max(tenths) > 40_000):
    sys.exit("the control has changed")
if "-l" not in options and (silent < 24 or not {0, 131_072} >= set(tenths)):
    sys.exit("the behaviour has changed")
PYTHON
for options in "-b 1M -l 1460" "-b 1M"; do
    iperf3 --server --one-off --bind 127.0.0.1 --port 5298 > /dev/null &
    server=$!
    for _ in {1..50}; do
        if ss --no-header --listening --tcp --numeric "sport = :5298" | grep --quiet .; then break; fi
        sleep 0.1
    done
    # shellcheck disable=SC2086
    iperf3 --client 127.0.0.1 --port 5298 --time 3 --interval 0.1 --json $options > "$work/report"
    python3 "$work/check.py" "$options" < "$work/report"
    wait "$server"
done
echo "as described: 128 KB at once, then a second of nothing"
