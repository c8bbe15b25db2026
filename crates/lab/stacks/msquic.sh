PATH=$STACKS/bin:$PATH
command -v msquic > /dev/null || exit 127
[ "$1" = version ] && exec msquic --version
exec msquic "$ADDRESS:$PORT" "$CERTIFICATE" "$KEY" "$FILES"
