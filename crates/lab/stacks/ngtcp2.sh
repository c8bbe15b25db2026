PATH=$STACKS/bin:$PATH:/usr/sbin
command -v gtlsserver > /dev/null || exit 127
if [ "$1" = version ]; then
    # The program does not state its version, the package does.
    version=$(cat "$STACKS/ngtcp2/version" 2> /dev/null || dpkg-query --show --showformat '${Version}' ngtcp2-server 2> /dev/null)
    echo "ngtcp2-server $version"
    exit
fi
exec gtlsserver --quiet -d "$FILES" "$ADDRESS" "$PORT" "$KEY" "$CERTIFICATE"
