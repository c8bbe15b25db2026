//! Any text as a link trace: an error, or a trace with a mean and a highest rate.

use firstflight_scenario::Schedule;

use crate::{Form, Target, refused, text};

pub(crate) const TARGET: Target = Target {
    name: "link_trace",
    about: "text of a link trace: rates above zero, the mean at most the highest",
    run,
    longest: 4 << 10,
    form: Form::Text(&[
        "time,Mbit/s",
        "0,",
        "0.5,100",
        "1000",
        "1e9",
        ",",
        "18446744073709551615",
        "nan",
        "#",
        "Timestamp;DL_bitrate;UL_bitrate",
        "time\tkbps",
        "2020.01.01_00.00.01",
        "1728568536474",
        " ",
        "\u{feff}",
        "\"",
    ]),
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    match Schedule::parse(text, "fuzz.trace") {
        Ok(schedule) => {
            let (mean, fastest) = (schedule.mean(), schedule.fastest());
            assert!(mean.0 > 0 && fastest.0 > 0, "{schedule:?}");
            if let Schedule::Rates(_) = schedule {
                assert!(mean <= fastest, "{schedule:?}");
            }
        }
        Err(error) => refused(error),
    }
}
