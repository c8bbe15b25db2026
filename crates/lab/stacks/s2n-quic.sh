PATH=$STACKS/bin:$PATH
command -v s2n-quic > /dev/null || exit 127
[ "$1" = version ] && exec s2n-quic --version
exec s2n-quic "$ADDRESS:$PORT" "$CERTIFICATE" "$KEY" "$FILES"
