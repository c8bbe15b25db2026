//! Lines as the documentation of each format has them.

use std::io::Write as _;

use super::*;

const LINE: &str = r#"192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326"#;

fn read(log: &str, keep: Keep) -> Vec<Result<Request, String>> {
    Log::new(log.as_bytes(), keep).map(|request| request.map_err(|error| error.to_string())).collect()
}

#[test]
fn a_line_gives_its_client_and_its_time_in_utc() {
    // 20:55:36 UTC, 11 240 days after 1 January 1970: 11 240 * 86 400 + 75 336 s.
    let expected = Request {
        at: Nanos::from_secs(971_211_336),
        client: "192.0.2.7".parse().expect("an address"),
        bytes: Some(2326),
        bottleneck: None,
    };
    assert_eq!(read(LINE, Keep::All), [Ok(expected)]);
}

#[test]
fn the_combined_format_and_ipv6_are_read() {
    let line =
        r#"2001:db8::7 - - [29/Feb/2024:00:00:00 +0530] "GET / HTTP/2.0" 200 1 "https://a.example/" "x [y]""#;
    // 28 February 2024, 18:30 UTC. `date -u -d '2024-02-28 18:30' +%s` says 1709145000.
    let requests = read(line, Keep::All);
    let request = requests[0].as_ref().expect("a request");
    assert_eq!(request.at, Nanos::from_secs(1_709_145_000));
    assert_eq!(request.client.to_string(), "2001:db8::7");
}

#[test]
fn the_bytes_of_an_answer_follow_its_request_and_status() {
    for (rest, bytes) in [
        (r#""GET / HTTP/1.0" 200 2326"#, Some(2326)),
        (r#""GET / HTTP/1.0" 304 -"#, Some(0)),
        (r#""GET /?q=\"a\" 200 7" 206 512 "https://a.example/" "x""#, Some(512)),
        (r#""GET /\\" 200 3"#, Some(3)),
        (r#""GET / HTTP/1.0" 200"#, None),
        (r#""GET / HTTP/1.0" 200 -5"#, None),
        (r#""GET / HTTP/1.0" twohundred 5"#, None),
        (r#""GET / HTTP/1.0"#, None),
        ("", None),
    ] {
        let line = format!("192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] {rest}");
        assert_eq!(read(&line, Keep::All)[0].as_ref().expect("a request").bytes, bytes, "{rest}");
    }
}

#[test]
fn keeping_pages_leaves_out_images() {
    let log = [("/a.gif", false), ("/b.JPG?x=1", false), ("/c.html?d.png", true), ("/", true)];
    for (path, kept) in log {
        let line = LINE.replace("/index.html", path);
        assert_eq!(read(&line, Keep::Pages).len(), usize::from(kept), "{path}");
        assert_eq!(read(&line, Keep::All).len(), 1);
    }
}

#[test]
fn blank_lines_and_comments_are_skipped_but_counted() {
    let log = format!(
        "# a log\n\n{LINE}\r\n{LINE}\nwww.example.org - - [10/Oct/2000:13:55:36 -0700] \"GET /\" 200 1\n"
    );
    let mut log = Log::new(log.as_bytes(), Keep::All);
    assert_eq!(log.by_ref().filter(Result::is_ok).count(), 2);
    assert_eq!(
        log.passed().to_string(),
        "1 of 3 lines are passed over: 1 whose client is not an IPv4 or IPv6 address (names are not looked up) (line 5, \"www.example.org - - …\")"
    );
}

#[test]
fn an_invalid_time_is_refused_with_its_line() {
    for stamp in [
        "10/Okt/2000:13:55:36 -0700",
        "31/Apr/2000:13:55:36 -0700",
        "29/Feb/1900:13:55:36 -0700",
        "10/Oct/2000:24:55:36 -0700",
        "10/Oct/2000:13:55:36",
        "10/Oct/2000:13:55:36 0700",
        "10/Oct/2000:13:55:36 -07",
        "10/Oct/2000:13:55:36:00 -0700",
        "01/Jan/1970:00:59:59 +0100",
        "10/Oct/2000:13:55:36 +2400",
        "10/Oct/2000:13:55:36 -9999",
        "10/Oct/2000:13:55:36 +0060",
        "10/Oct/2000:13:55:36 +\u{660}\u{661}00",
        "10/Oct/2000:13:55:36 +0000 ",
        "10/Oct/2000:13:60:36 +0000",
        "10/Oct/2000:13:55:61 +0000",
        "00/Oct/2000:13:55:36 +0000",
        "32/Oct/2000:13:55:36 +0000",
        "10/13/2000:13:55:36 +0000",
        "10/oct/2000:13:55:36 +0000",
        "10/Oct/0000:13:55:36 +0000",
        "10/Oct/2554:13:55:36 +0000",
        "10/Oct/9999:13:55:36 +0000",
        "10/Oct/99999:13:55:36 +0000",
        "10/Oct/-001:13:55:36 +0000",
        "",
    ] {
        let line = LINE.replace("10/Oct/2000:13:55:36 -0700", stamp);
        let mut log = Log::of(line.as_bytes(), Keep::All, Some(Format::Combined));
        assert!(matches!(log.next(), Some(Err(LogError::Mostly { .. }))), "{stamp}");
        let reason = &log.passed().reasons[0];
        assert_eq!((reason.flaw, reason.first), (Flaw::Time, 1), "{stamp}");
    }
}

#[test]
fn the_last_valid_time_and_the_widest_time_zones_are_read() {
    // `date -u -d '2554-01-01 23:58:59' +%s`, and 10 October 2000, 13:55:36, a day less a minute later and earlier.
    for (stamp, seconds) in [
        ("31/Dec/2553:23:59:59 -2359", 18_429_379_139),
        ("10/Oct/2000:13:55:36 -2359", 971_272_476),
        ("10/Oct/2000:13:55:36 +2359", 971_099_796),
    ] {
        let line = LINE.replace("10/Oct/2000:13:55:36 -0700", stamp);
        let request = read(&line, Keep::All).remove(0).expect(stamp);
        assert_eq!(request.at, Nanos::from_secs(seconds), "{stamp}");
    }
}

#[test]
fn long_fields_are_cut_in_messages() {
    let line = format!("{} - - [{}] \"GET /\" 200 1", "é".repeat(5000), "x".repeat(5000));
    let mut log = Log::of(line.as_bytes(), Keep::All, Some(Format::Combined));
    let message = log.next().expect("an error").expect_err("refused").to_string();
    assert!(message.contains('…') && message.chars().count() < 250, "{message}");
}

#[test]
fn an_endless_line_is_refused_before_it_fills_memory() {
    let endless = io::BufReader::new(io::repeat(b'x'));
    let first = Log::new(endless, Keep::All).next().expect("a line");
    assert_eq!(
        first.expect_err("too long").to_string(),
        "line 1: longer than 64 MiB; expected a line of a web server's log"
    );
}

/// Client, seconds since 1970 with nanoseconds, bytes, and whether the request is for an image.
fn fields_of(line: &str, format: Format) -> Option<(String, f64, Option<u64>)> {
    let mut log = Log::of(line.as_bytes(), Keep::All, Some(format));
    let request = log.next()?.ok()?;
    Some((request.client.to_string(), (request.at.0 / 1000) as f64 / 1e6, request.bytes))
}

fn found(client: &str, seconds: f64, bytes: u64) -> Option<(String, f64, Option<u64>)> {
    Some((client.to_owned(), seconds, Some(bytes)))
}

/// The requests of a log and its format, recognised, and the lines that were passed over.
fn recognised(text: &[u8]) -> (Vec<Request>, Option<Format>, u64) {
    let mut log = Log::new(text, Keep::All);
    let requests = log.by_ref().map_while(Result::ok).collect();
    (requests, log.format(), log.passed().count())
}

const COMBINED: &str = r#"- - [10/Oct/2024:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "-" "curl/8""#;
/// `date -u -d '2024-10-10 13:55:36' +%s`
const THEN: f64 = 1_728_568_536.0;

#[test]
fn the_client_of_a_line_is_an_address_in_any_form() {
    for (host, client) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:51234", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7:51234", "192.0.2.7"),
        ("[::ffff:192.0.2.7]:51234", "192.0.2.7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("fe80::7%eth0", "fe80::7"),
        // Apache's vhost_combined, `%v:%p %h`.
        ("www.example.com:443 192.0.2.7", "192.0.2.7"),
        ("www.example.com 2001:db8::7", "2001:db8::7"),
        ("198.51.100.1:443 192.0.2.7", "192.0.2.7"),
        ("[2001:db8::1]:443 192.0.2.7", "192.0.2.7"),
        // The stamp of syslog.
        ("Oct 10 13:55:36 web1 nginx: 192.0.2.7", "192.0.2.7"),
        // Lists of forwarded addresses: the client's is the first; of two fields it is the public one.
        ("192.0.2.7, 198.51.100.1, 10.0.0.1", "192.0.2.7"),
        ("192.0.2.7,198.51.100.1", "192.0.2.7"),
        ("www.example.com 192.0.2.7, 10.0.0.1", "192.0.2.7"),
        ("- 192.0.2.7", "192.0.2.7"),
        ("192.0.2.7 10.0.0.1", "192.0.2.7"),
        ("10.0.0.1 192.0.2.7", "192.0.2.7"),
    ] {
        for separator in [" ", "\t"] {
            let line = format!("{host} {COMBINED}").replacen(' ', separator, host.matches(' ').count() + 3);
            assert_eq!(fields_of(&line, Format::Combined), found(client, THEN, 2326), "{line}");
        }
    }
    for (host, why) in [
        ("-", "whose client is not an IPv4 or IPv6 address"),
        ("unix:", "whose client is not an IPv4 or IPv6 address"),
        ("host1.example.net", "whose client is not an IPv4 or IPv6 address"),
        ("unknown, 192.0.2.7", "whose client is not an IPv4 or IPv6 address"),
        ("192.0.2.7 198.51.100.1", "with two addresses, either of which could be the client's"),
        ("[2001:db8::7", "whose client is not"),
        ("192.0.2.7:99999", "whose client is not"),
        ("192.0.2.256", "whose client is not"),
    ] {
        let line = format!("{host} {COMBINED}");
        let error =
            Log::new(line.as_bytes(), Keep::All).next().expect("an error").expect_err(host).to_string();
        assert!(error.starts_with("most lines cannot be read as combined") && error.contains(why), "{error}");
    }
}

#[test]
fn a_users_name_can_have_blanks_and_brackets() {
    for user in ["frank", "john [brackets] doe", "[10/Oct/1999:13:55:36 +0000]", "a [b", "c] d", "\\\"e\\\""]
    {
        let line = format!("192.0.2.7 - {user} {}", &COMBINED[4..]);
        assert_eq!(fields_of(&line, Format::Combined), found("192.0.2.7", THEN, 2326), "{line}");
    }
}

#[test]
fn times_of_the_combined_format_can_have_fractions_or_be_those_of_iso_8601() {
    for stamp in ["10/Oct/2024:13:55:36.250000 +0000", "2024-10-10T15:55:36.25+02:00"] {
        let line = format!("192.0.2.7 {}", COMBINED.replace("10/Oct/2024:13:55:36 +0000", stamp));
        assert_eq!(fields_of(&line, Format::Combined), found("192.0.2.7", THEN + 0.25, 2326), "{line}");
    }
}

#[test]
fn lines_of_haproxy_are_read() {
    // HAProxy 2.9, Configuration Manual, sections 8.2.3 and 8.2.2. `date -u -d '2009-02-06 12:14:14' +%s`
    let http = "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 \
                10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html HTTP/1.1\"";
    let tcp = "Feb  6 12:12:56 localhost haproxy[14387]: 10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 \
               212 -- 0/0/0/0/3 0/0";
    for (line, expected) in [
        (http.to_owned(), found("10.0.1.2", 1_233_922_454.655, 2750)),
        (tcp.to_owned(), found("10.0.1.2", 1_233_922_371.443, 212)),
        // The port stands behind an address without brackets.
        (http.replace("10.0.1.2", "2001:db8::7"), found("2001:db8::7", 1_233_922_454.655, 2750)),
        (http.replace("10.0.1.2", "::ffff:192.0.2.7"), found("192.0.2.7", 1_233_922_454.655, 2750)),
        (http.replace("109 200 2750", "+109 200 +2750"), found("10.0.1.2", 1_233_922_454.655, 2750)),
        (http[http.find("10.0.1.2").unwrap()..].to_owned(), found("10.0.1.2", 1_233_922_454.655, 2750)),
    ] {
        assert_eq!(fields_of(&line, Format::Haproxy), expected, "{line}");
        assert_eq!(recognised(line.as_bytes()).1, Some(Format::Haproxy));
    }
    let handshake =
        "haproxy[1]: 10.0.1.2:33318 [15/Oct/2003:08:32:17.654] frt/f1: Connection error during SSL handshake";
    let (requests, _, passed) = recognised(format!("{http}\n{handshake}\n{http}\n").as_bytes());
    assert_eq!((requests.len(), passed), (2, 1));
}

#[test]
fn lines_of_iis_and_cloudfront_are_read_by_the_names_of_their_fields() {
    // Microsoft, "W3C Extended Log File Format (IIS 6.0)": date, time, client and names as there; bytes and a blank added.
    let iis = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2024-10-10 13:55:36\n\
               #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status sc-bytes time-taken\n\
               2024-10-10 13:55:36 10.0.0.1 GET /a.gif - 443 - 192.0.2.7 Mozilla/5.0+(x;+y) 200 2326 12\n";
    assert_eq!(fields_of(iis, Format::W3c), found("192.0.2.7", THEN, 2326));
    assert_eq!(Log::new(iis.as_bytes(), Keep::Pages).count(), 0);
    // Without a date in the lines, that of the last `#Date` counts; fields can change within a file.
    let other = "#Date: 2024-10-10 00:00:00\n#Fields: time c-ip \"x\" sc-bytes\n13:55:36 192.0.2.7 \"a b\" 5\n\
                 #Fields: c-ip time\n2001:db8::7 13:55:37.5\n13:55:38\n";
    let (requests, format, passed) = recognised(other.as_bytes());
    assert_eq!((format, passed), (Some(Format::W3c), 1));
    let found: Vec<_> = requests.iter().map(|r| (r.client.to_string(), r.at.0, r.bytes)).collect();
    let at = THEN as u64 * 1_000_000_000;
    assert_eq!(found, [("192.0.2.7".into(), at, Some(5)), ("2001:db8::7".into(), at + 1_500_000_000, None)]);
    // Amazon CloudFront Developer Guide, "Standard log file format": tabs, the bytes before the client.
    let cloudfront = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status\n\
                      2019-12-04\t21:02:31\tLAX1\t392\t2001:db8:100::64\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\n";
    // `date -u -d '2019-12-04 21:02:31' +%s`
    assert_eq!(fields_of(cloudfront, Format::W3c), self::found("2001:db8:100::64", 1_575_493_351.0, 392));
    // Its files begin with the fields; a log that was cut has none.
    let cut = Log::of("13:55:36 192.0.2.7\n".as_bytes(), Keep::All, Some(Format::W3c)).next();
    assert!(
        cut.expect("an error")
            .expect_err("no fields")
            .to_string()
            .contains("without a field of a client and a time")
    );
}

#[test]
fn lines_of_amazons_load_balancers_are_read() {
    // Elastic Load Balancing, "Access logs for your Application Load Balancer", example of an HTTP entry.
    let alb = "http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 \
               0.000 200 200 34 366 \"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.46.0\" - - arn:x \"Root=1\" \"-\" \"-\" 0";
    // "Access logs for your Classic Load Balancer" and "… Network Load Balancer", in the same forms.
    let elb = "2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 \
               \"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.38.0\" - -";
    let nlb = "tls 2.0 2018-12-20T02:59:40 net/my-network-loadbalancer/c6e77e28c25b2234 g3d4b5e8bb8464cd 72.21.218.154:51341 \
               172.100.100.185:443 5 2 98 246 - arn:x - TLS_AES tlsv12 - my-nlb - - - 2018-12-20T02:59:30";
    // `date -u -d '2018-07-02 22:23:00' +%s` and so on.
    for (line, expected) in [
        (alb.to_owned(), found("192.168.131.39", 1_530_570_180.186_641, 366)),
        (alb.replace("192.168.131.39", "2001:db8::7"), found("2001:db8::7", 1_530_570_180.186_641, 366)),
        (
            alb.replace("200 200", "502 -").replace("10.0.0.1:80", "-"),
            found("192.168.131.39", 1_530_570_180.186_641, 366),
        ),
        (elb.to_owned(), found("192.168.131.39", 1_431_560_383.945_958, 29)),
        (nlb.to_owned(), found("72.21.218.154", 1_545_274_780.0, 246)),
    ] {
        assert_eq!(fields_of(&line, Format::Alb), expected, "{line}");
        assert_eq!(recognised(line.as_bytes()).1, Some(Format::Alb), "{line}");
    }
}

#[test]
fn lines_of_json_are_read_by_the_names_of_several_servers() {
    // Caddy 2, "Logging": the request is an object, times are seconds with a fraction.
    let caddy = r#"{"level":"info","ts":1728568536.25,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.7","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a.png?x","headers":{"User-Agent":["curl/7.82.0"],"X-Forwarded-For":["198.51.100.9"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":2326,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;
    // Traefik 3, "Access logs", JSON.
    let traefik = r#"{"ClientAddr":"192.0.2.7:51234","ClientHost":"192.0.2.7","ClientPort":"51234","ClientUsername":"-","DownstreamContentSize":2326,"DownstreamStatus":200,"Duration":1000,"OriginContentSize":9,"RequestPath":"/a.png","StartLocal":"2024-10-10T13:55:36.25Z","StartUTC":"2024-10-10T13:55:36.25Z","entryPointName":"web","level":"info","msg":"","time":"2024-10-10T13:55:37Z"}"#;
    for (line, is_image) in [
        (caddy.to_owned(), true),
        (caddy.replace("1728568536.25", "\"2024-10-10T13:55:36.250Z\""), true),
        (caddy.replace("a.png", "a"), false),
        (traefik.to_owned(), true),
        (traefik.replace("\"ClientHost\":\"192.0.2.7\",", ""), true),
        // nginx, ngx_http_log_module: variables; $msec is seconds with milliseconds, as a text or as a number.
        (r#"{"time_iso8601":"2024-10-10T13:55:36.25+00:00","remote_addr":"192.0.2.7","request":"GET /a.png HTTP/1.1","status":"200","body_bytes_sent":"2326","bytes_sent":"2500","http_x_forwarded_for":""}"#.to_owned(), true),
        (r#"{"msec":"1728568536.250","remote_addr":"192.0.2.7","request":"GET / HTTP/1.1","body_bytes_sent":2326}"#.to_owned(), false),
        (r#"{"msec":1728568536.250,"http_x_forwarded_for":"192.0.2.7, 10.0.0.1","remote_addr":"","body_bytes_sent":2326}"#.to_owned(), false),
        // CloudFront, "Standard logging (v2)": the names of the standard log file.
        (r#"{"date":"2024-10-10","time":"13:55:36.25","c-ip":"192.0.2.7","sc-bytes":"2326","cs-uri-stem":"/a.png"}"#.to_owned(), true),
        (r#"{"timestamp(ms)":"1728568536250","c-ip":"::ffff:192.0.2.7","sc-bytes":"2326","cs-uri-stem":"/"}"#.to_owned(), false),
        // Cloudflare Logpush.
        (r#"{"ClientIP":"192.0.2.7","EdgeStartTimestamp":1728568536250000000,"EdgeResponseBytes":2326,"ClientRequestURI":"/a.png"}"#.to_owned(), true),
    ] {
        assert_eq!(fields_of(&line, Format::Json), found("192.0.2.7", THEN + 0.25, 2326), "{line}");
        assert_eq!(recognised(line.as_bytes()).1, Some(Format::Json), "{line}");
        assert_eq!(Log::new(line.as_bytes(), Keep::Pages).count(), usize::from(!is_image), "{line}");
    }
    for line in [
        r#"{"level":"info","ts":1728568536.25,"msg":"serving initial configuration"}"#,
        r#"{"remote_addr":"192.0.2.7","time_iso8601":"yesterday"}"#,
        r#"{"remote_addr":"localhost","msec":"1728568536.250"}"#,
        r#"{"remote_addr":"192.0.2.7","msec":"1728568536.250""#,
        r#"{"remote_addr":{"ip":"192.0.2.7"},"msec":[1]}"#,
        r#"{"remote_addr":"192.0.2.7","ts":99999999999999.5}"#,
        r#"{"remote_addr":"192.0.2.7","ts":99999999999999}"#,
        r#"{"remote_addr":"192.0.2.7","ts":-1}"#,
        r#"["192.0.2.7",1728568536.25]"#,
    ] {
        let (requests, _, passed) = recognised(format!("{traefik}\n{line}\n{traefik}").as_bytes());
        assert_eq!((requests.len(), passed), (2, 1), "{line}");
    }
}

#[test]
fn an_odd_line_is_counted_and_most_odd_lines_are_an_error() {
    let line = format!("192.0.2.7 {COMBINED}");
    let long = "x".repeat(LONGEST + 5);
    let text = format!("\u{feff}{line}\n\nodd\n{line}\n{long}\nodd too\n{line}\n{line}\n");
    let mut log = Log::new(text.as_bytes(), Keep::All);
    assert_eq!(log.by_ref().filter(Result::is_ok).count(), 4);
    assert_eq!(
        log.passed().to_string(),
        "3 of 7 lines are passed over: 2 of another form (line 3, \"odd\"); 1 longer than 65536 bytes (line 5, \"xxxxxxxxxxxxxxxxxxxx…\")"
    );
    let most = format!("{line}\n\u{1}odd\n<b>odd too, and more</b>\n");
    let error = Log::new(most.as_bytes(), Keep::All).find_map(Result::err).expect("most are odd").to_string();
    assert_eq!(
        error,
        "most lines cannot be read as combined (Apache, nginx; also common, or with the virtual host first; Envoy, Amazon S3): 2 of 3 lines are \
         passed over: 2 of another form (line 2, \"\\u{1}odd\")"
    );
    // Half of them are not most.
    assert!(Log::new(format!("{line}\nodd\n").as_bytes(), Keep::All).all(|request| request.is_ok()));
}

#[test]
fn a_file_that_is_no_log_is_named_with_the_formats() {
    for (bytes, what) in [
        (
            &b"no log\n"[..],
            "this is no access log of a kind that is read; expected one of: combined (Apache, nginx;",
        ),
        (
            b"2024-10-10T13:55:36+00:00 192.0.2.7 GET /a 200 1\n",
            "this is no access log of a kind that is read",
        ),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0", "this is a packet capture; expected one of: combined"),
        (b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "this is a packet capture"),
        (b"\x4d\x3c\xb2\xa1\x02\0\x04\0", "this is a packet capture"),
        (b"\x28\xb5\x2f\xfd", "this is compressed with zstd, and only gzip is read"),
    ] {
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packed.write_all(bytes).expect("memory");
        for bytes in [bytes, &packed.finish().expect("memory")] {
            let error = Log::new(bytes, Keep::All).next().expect("an error").expect_err(what).to_string();
            assert!(error.starts_with(what), "{error}");
        }
    }
    assert!(Log::new(&b""[..], Keep::All).next().is_none());
    assert!(Log::new(&b"\n# nothing\n"[..], Keep::All).next().is_some_and(|end| end.is_err()));
}

#[test]
fn a_log_in_gzip_is_that_of_its_contents() {
    let text = format!("192.0.2.7 {COMBINED}\n").repeat(3000);
    let packed = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packed.write_all(text.as_bytes()).expect("memory");
        packed.finish().expect("memory")
    };
    // Logs that were appended to each other are several members of one file.
    let both = [packed(&text), packed(&text)].concat();
    let (requests, format, passed) = recognised(&both);
    assert_eq!((requests.len(), format, passed), (6000, Some(Format::Combined), 0));
    let cut = &both[..both.len() - 20];
    let end = Log::new(cut, Keep::All).find_map(Result::err).expect("it is cut").to_string();
    assert!(end.contains("cannot be read"), "{end}");
}

#[test]
fn a_client_behind_a_proxy_is_the_one_that_the_proxy_named() {
    // nginx's format `main` ends with "$http_x_forwarded_for" (nginx.conf of the package).
    for (peer, named, client) in [
        ("10.0.0.5", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.5", "192.0.2.7, 198.51.100.9", "192.0.2.7"),
        ("::ffff:10.0.0.5", "2001:db8::7,10.0.0.1", "2001:db8::7"),
        ("10.0.0.5", "-", "10.0.0.5"),
        ("10.0.0.5", "unknown, 192.0.2.7", "10.0.0.5"),
        ("10.0.0.5", "version 1.2.3.4", "10.0.0.5"),
        // Anyone can send the header: an address of the Internet is that of the client.
        ("198.51.100.9", "192.0.2.7", "198.51.100.9"),
    ] {
        let line = format!("{peer} {COMBINED} \"{named}\"");
        assert_eq!(fields_of(&line, Format::Combined), found(client, THEN, 2326), "{line}");
        let json = format!(
            r#"{{"time_iso8601":"2024-10-10T13:55:36+00:00","http_x_forwarded_for":"{named}","remote_addr":"{peer}","body_bytes_sent":2326}}"#
        );
        let first = named.split(',').next().expect("a name");
        let expected =
            if first.parse::<IpAddr>().is_ok() { client } else { peer.trim_start_matches("::ffff:") };
        assert_eq!(fields_of(&json, Format::Json), found(expected, THEN, 2326), "{json}");
    }
    let iis = "#Fields: date time c-ip X-Forwarded-For sc-bytes\n2024-10-10 13:55:36 10.0.0.9 192.0.2.7,+10.0.0.1 2326\n";
    assert_eq!(fields_of(iis, Format::W3c), found("192.0.2.7", THEN, 2326));
    assert_eq!(
        fields_of(&iis.replace("10.0.0.9", "198.51.100.9"), Format::W3c),
        found("198.51.100.9", THEN, 2326)
    );
}

#[test]
fn the_status_can_stand_before_the_request_and_quotation_marks_in_it() {
    for (behind, bytes) in [
        ("200 \"GET / HTTP/1.1\" 2326 \"-\"", Some(2326)),
        ("GET /a HTTP/1.1 \"200\" 2326 \"-\"", Some(2326)),
        ("\"GET /\"x HTTP/1.1\" 200 2326 \"-\"", Some(2326)),
        ("\"GET /\" 300 HTTP/1.1\" 200 2326 \"-\"", Some(2326)),
        ("\"\\x16\\x03\\x01\" 400 157 \"-\"", Some(157)),
        ("\"\" 400 0", Some(0)),
        // 612 is no status: these are bytes of an unknown order.
        ("\"GET / HTTP/1.1\" 612 2326", None),
    ] {
        let line = format!("192.0.2.7 - - [10/Oct/2024:13:55:36 +0000] {behind}");
        assert_eq!(read(&line, Keep::All)[0].as_ref().expect("a request").bytes, bytes, "{line}");
    }
    let image = "192.0.2.7 - - [10/Oct/2024:13:55:36 +0000] GET /a.png HTTP/1.1 \"200\" 5";
    assert!(read(image, Keep::Pages).is_empty());
}

#[test]
fn lines_of_envoy_and_amazon_s3_are_read() {
    // Envoy's default format, of its documentation; Istio adds fields before the bytes and at the end.
    let envoy = "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 226 100 99 \"10.0.35.28\" \"nsq2http\" \
                 \"cc21d9b0\" \"locations\" \"tcp://10.0.2.1:80\"";
    // `date -u -d '2016-04-15 20:17:00' +%s`
    assert_eq!(fields_of(envoy, Format::Combined), found("10.0.35.28", 1_460_751_420.31, 226));
    let istio = "[2024-10-10T13:55:36.250Z] \"GET /a HTTP/1.1\" 200 - via_upstream - \"-\" 0 2326 1 - \"192.0.2.7,10.0.0.1\" \"1.2.3.4\" \"id\"";
    assert_eq!(fields_of(istio, Format::Combined), found("192.0.2.7", THEN + 0.25, 2326));
    let unknown = istio.replace("192.0.2.7,10.0.0.1", "-");
    let error = Log::new(unknown.as_bytes(), Keep::All).next().expect("an error").expect_err("no client");
    assert!(error.to_string().contains("whose client is not an IPv4 or IPv6 address"), "{error}");
    // Amazon S3 User Guide, "Server access log format".
    let s3 = "79a59df900b949e5 amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df900b949e5 3E57427F3EXAMPLE \
              REST.GET.VERSIONING - \"GET /amzn-s3-demo-bucket1?versioning HTTP/1.1\" 200 - 113 - 7 - \"-\" \"S3Console/0.4\" - s9lz";
    // `date -u -d '2019-02-06 00:00:38' +%s`
    assert_eq!(fields_of(s3, Format::Combined), found("192.0.2.3", 1_549_411_238.0, 113));
}

#[test]
fn objects_of_envoy_haproxy_google_and_collectors_are_read() {
    let line = format!("192.0.2.7 {}", COMBINED.replace('"', "\\\""));
    for text in [
        r#"{"start_time":"2024-10-10T13:55:36.000Z","path":"/a","bytes_received":5,"bytes_sent":2326,"downstream_remote_address":"192.0.2.7:51234","x_forwarded_for":null}"#.to_owned(),
        r#"{"start_time":"2024-10-10T13:55:36.000Z","bytes_sent":2326,"downstream_remote_address":"10.0.0.3:51234","x_forwarded_for":"192.0.2.7"}"#.to_owned(),
        r#"{"time":"10/Oct/2024:13:55:36.000","client":"192.0.2.7:5123","bytes_read":2326}"#.to_owned(),
        r#"{"httpRequest":{"remoteIp":"192.0.2.7","responseSize":"2326"},"timestamp":"2024-10-10T13:55:36Z","receiveTimestamp":"2024-10-10T13:55:37Z"}"#.to_owned(),
        format!(r#"{{"log":"{line}\n","stream":"stdout","time":"2024-10-10T13:55:40.1Z"}}"#),
        format!(r#"{{"@timestamp":"2024-10-10T13:55:40.1Z","message":"{line}"}}"#),
        r#"{"log":"{\"msec\":\"1728568536.000\",\"remote_addr\":\"192.0.2.7\",\"body_bytes_sent\":2326}\n","time":"x"}"#.to_owned(),
    ] {
        assert_eq!(fields_of(&text, Format::Json), found("192.0.2.7", THEN, 2326), "{text}");
        assert_eq!(recognised(text.as_bytes()).1, Some(Format::Json), "{text}");
    }
    let odd = r#"{"remote_addr":"192.0.2.7","time_iso8601":"yesterday"}"#;
    let error =
        Log::new(odd.as_bytes(), Keep::All).next().expect("an error").expect_err("no time").to_string();
    assert!(
        error.starts_with("most lines cannot be read as json") && error.contains("whose time is not"),
        "{error}"
    );
}

#[test]
fn a_log_whose_files_are_in_the_wrong_order_is_refused() {
    // Three rotated files of 100 requests, one every 20 s; access.log.2 is older than access.log.1.
    let file = |number: u64| {
        let line = |i: u64| {
            let at = 7200 * number + 20 * i;
            let time = format!("10/Oct/2024:{:02}:{:02}:{:02} +0000", at / 3600, at / 60 % 60, at % 60);
            format!("192.0.2.{i} - - [{time}] \"GET / HTTP/1.1\" 200 5\n")
        };
        (0..100).map(line).collect::<String>()
    };
    let end = |files: [u64; 3]| {
        Log::new(files.map(file).concat().as_bytes(), Keep::All)
            .find_map(Result::err)
            .map(|end| end.to_string())
    };
    assert_eq!(end([0, 1, 2]), None);
    // Both later files begin before the newest request: 200 of 300.
    let error = end([2, 1, 0]).expect("in reverse");
    assert!(
        error.starts_with("200 of 300 requests are more than a minute earlier than one before them"),
        "{error}"
    );
    assert!(end([1, 0, 2]).expect("two of them").starts_with("100 of 300 requests"));
    // The log line of an answer follows within a minute of its end. One answer in twenty has a line at any later time.
    let mut lines: Vec<_> = file(1).lines().map(String::from).collect();
    lines.swap(10, 13);
    for late in 0..5 {
        let line = lines.remove(0);
        lines.insert(40 + 10 * late, line);
    }
    assert!(Log::new(lines.join("\n").as_bytes(), Keep::All).all(|request| request.is_ok()));
    // Few lines are not judged: one long download of ten.
    let few: Vec<_> = file(1).lines().skip(90).chain(file(1).lines().take(1)).map(String::from).collect();
    assert!(Log::new(few.join("\n").as_bytes(), Keep::All).all(|request| request.is_ok()));
}
