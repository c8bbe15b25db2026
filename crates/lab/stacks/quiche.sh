PATH=$STACKS/bin:$PATH
command -v quiche > /dev/null || exit 127
[ "$1" = version ] && exec quiche --version
exec quiche "$ADDRESS:$PORT" "$CERTIFICATE" "$KEY" "$FILES" ${STACK#quiche-}
