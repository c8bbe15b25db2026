PATH=$STACKS/bin:$PATH:/usr/sbin
name=$STACK
command -v "$name" > /dev/null || exit 127
if [ "$1" = version ]; then
    # HTTP/3 is a part of the program.
    "$name" -V 2>&1 | grep -q http_v3_module || exit 1
    "$name" -v 2>&1 | sed 's/^nginx version: //'
    exit
fi
cat > "$WORK/nginx.conf" <<CONFIGURATION
daemon off;
master_process off;
user root;
pid $WORK/pid;
error_log stderr error;
events {}
http {
    access_log off;
    client_body_temp_path $WORK/body; proxy_temp_path $WORK/proxy; fastcgi_temp_path $WORK/fastcgi;
    uwsgi_temp_path $WORK/uwsgi; scgi_temp_path $WORK/scgi;
    server {
        listen $ADDRESS:$PORT quic;
        ssl_certificate $CERTIFICATE;
        ssl_certificate_key $KEY;
        root $FILES;
    }
}
CONFIGURATION
exec "$name" -p "$WORK" -c "$WORK/nginx.conf"
