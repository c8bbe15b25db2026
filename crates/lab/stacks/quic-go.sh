PATH=$STACKS/bin:$PATH
command -v quic-go > /dev/null || exit 127
[ "$1" = version ] && exec quic-go --version
exec quic-go "$ADDRESS:$PORT" "$CERTIFICATE" "$KEY" "$FILES"
