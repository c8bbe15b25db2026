PATH=$STACKS/bin:$PATH
command -v gtlsserver > /dev/null || exit 127
if [ "$1" = version ]; then
    # The program does not state its version, the library does.
    for library in "$STACKS"/ngtcp2/usr/lib/*/libngtcp2.so.*.*.* /usr/lib/*/libngtcp2.so.*.*.*; do
        [ -e "$library" ] && echo "libngtcp2 ${library##*.so.}" && exit
    done
    exit
fi
exec gtlsserver --quiet -d "$FILES" "$ADDRESS" "$PORT" "$KEY" "$CERTIFICATE"
