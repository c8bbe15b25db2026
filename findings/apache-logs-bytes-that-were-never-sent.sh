#!/usr/bin/env bash
# Apache's common log format has the size of the FILE in the place of the bytes sent (%b), also for a client that gave up: of a download of 20 MB that
# ends after 1 MB the log line has status 200, 20,000,000 bytes and the time until the abort, so that size over time is a rate that the path
# never had, and the transfer looks complete. %O of mod_logio counts what was written to the socket: several MB more than the client got,
# since the kernel's buffers are in it. Neither number is what crossed the path.
# Cause: %b is r->bytes_sent, which ap_content_length_filter() in server/protocol.c adds up before anything is written; a file is one bucket.
# The manual of mod_log_config has a note on it.
# Versions: apache2-bin 2.4.71-1~deb13u1 of Debian trixie. Control: a download that completes has its size in both fields.
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

unpack trixie apache2-bin=2.4.71-1~deb13u1
mkdir "$work/www"
head -c 20000000 /dev/zero > "$work/www/file"
modules=$work/root/usr/lib/apache2/modules
cat > "$work/apache.conf" <<APACHE
ServerRoot $work
ServerName localhost
PidFile $work/pid
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
Listen 127.0.0.1:8080
DocumentRoot $work/www
ErrorLog $work/error
LogFormat "%>s %b %O %D" numbers
CustomLog $work/access numbers
APACHE
cat > "$work/get.py" <<'PYTHON'
import socket
import sys
import time

# Reads at most so many bytes of the response, at 2 MB a second if it does not read all, and closes the connection.
limit = int(sys.argv[1])
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 100_000)
client.connect(("127.0.0.1", 8080))
client.sendall(b"GET /file HTTP/1.0\r\n\r\n")
received = 0
while received < limit and (data := client.recv(20_000)):
    received += len(data)
    if limit < 20_000_000:
        time.sleep(0.01)
print(received)
PYTHON
version=$("${run[@]}" "$work/root/usr/sbin/apache2" -v | awk 'NR == 1 { print $3 }')
echo "$version"
[ "$version" = Apache/2.4.71 ]
export work
# A namespace of its own: the loopback device has no other server, and processes end with it.
unshare --user --map-root-user --net --pid --fork --kill-child bash -euc '
    ip link set lo up
    "$@" -f "$work/apache.conf" -X 2> /dev/null &
    sleep 2
    for limit in 30000000 1000000; do
        python3 "$work/get.py" "$limit"
        sleep 1
    done > "$work/received"
' -- "${run[@]}" "$work/root/usr/sbin/apache2"
paste -d " " "$work/received" "$work/access" | while read -r received status size sent microseconds; do
    echo "client got $received bytes with headers; log: status $status, %b $size, %O $sent, %D $microseconds us"
done
python3 - "$work/received" "$work/access" <<'PYTHON'
import sys

received = [int(line) for line in open(sys.argv[1])]
log = [[int(field) for field in line.split()] for line in open(sys.argv[2])]
if log[0][:2] != [200, 20_000_000] or log[0][2] != received[0]:
    sys.exit("the control has changed")
if log[1][:2] != [200, 20_000_000] or not 1_000_000 <= received[1] <= 1_100_000 or log[1][2] < received[1] + 100_000:
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: an aborted download is logged as complete"
