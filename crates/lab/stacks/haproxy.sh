PATH=$STACKS/bin:$PATH:/usr/sbin
program=$STACK
command -v "$program" > /dev/null && command -v python3 > /dev/null || exit 127
if [ "$1" = version ]; then
    "$program" -vv | grep -q 'USE_QUIC=1' || exit 1
    "$program" -v | sed -n '1s/HAProxy version \([^ ]*\).*/HAProxy \1/p'
    exit
fi
# The origin is a server of files on loopback.
ip link set lo up
cat "$CERTIFICATE" "$KEY" > "$WORK/both.pem"
cat > "$WORK/haproxy.cfg" <<CONFIGURATION
global
    limited-quic
defaults
    mode http
    timeout client 20s
    timeout server 20s
    timeout connect 5s
frontend front
    bind quic4@$ADDRESS:$PORT ssl crt $WORK/both.pem alpn h3
    default_backend back
backend back
    server origin 127.0.0.1:8080
CONFIGURATION
python3 -m http.server 8080 --bind 127.0.0.1 --directory "$FILES" > /dev/null 2>&1 &
exec "$program" -f "$WORK/haproxy.cfg"
