//! Any bytes as a web server's log: requests and counted lines, or one error, and shares from 0 to 1.

use firstflight_accesslog::{Grouping, Keep, Log, Study};
use firstflight_contract::Nanos;

use crate::finite::assert_finite;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "access_log",
    about: "bytes of a web server's log, read and analysed: shares from 0 to 1, every number finite",
    run,
    longest: 8 << 10,
    form: Form::Text(&[
        "192.0.2.7",
        "2001:db8::7",
        " - - ",
        "[10/Oct/2000:13:55:36 -0700]",
        "[31/Dec/9999:23:59:60 +9959]",
        "\"GET /a.gif HTTP/1.0\" 200 1",
        "#",
        "[29/Feb/2024:00:00:00 +0530]",
        "::ffff:192.0.2.7",
        "[06/Feb/2009:12:14:14.655] a b/c 10/0/30/69/109 200 2750",
        "#Fields: date time c-ip sc-bytes\n2024-10-10 13:55:36 192.0.2.7 5",
        "{\"ts\":1728568536.25,\"request\":{\"remote_ip\":\"192.0.2.7\"},\"size\":5}",
        "http 2018-07-02T22:23:00Z app/x 192.0.2.7:80 - 0 0 0 200 200 34 366",
        "\u{1f}\u{8b}",
        "\u{e9}",
    ]),
};

fn run(bytes: &[u8]) {
    for keep in [Keep::All, Keep::Pages] {
        let windows = [Nanos::from_secs(1), Nanos::from_secs(60)];
        let mut study = Study::new(&windows, Grouping::bits(24, 48));
        let mut log = Log::new(bytes, keep);
        let mut requests = 0;
        for request in log.by_ref() {
            match request {
                Ok(request) => study.add(request),
                Err(error) => return refused(error),
            }
            requests += 1;
        }
        let passed = log.passed();
        assert!(passed.count() + requests <= passed.lines && 2 * passed.count() <= passed.lines, "{passed}");
        match study.finish() {
            Ok(analysis) => {
                assert_finite(&analysis);
                for window in &analysis.windows {
                    assert!((0.0..=1.0).contains(&window.seen), "{window:?}");
                    assert!(
                        window.held_median <= window.held_p95 && window.held_p95 <= window.held_max,
                        "{window:?}"
                    );
                    assert!(window.held_mean <= f64::from(window.held_max), "{window:?}");
                }
            }
            Err(error) => refused(error),
        }
    }
}
