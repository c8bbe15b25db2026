//! Traces in the forms in which programs and collections have them.

use super::columns::{RateUnit, TimeUnit};
use super::*;

fn parse(text: &str) -> Schedule {
    Schedule::parse(text, "x").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_line_of_mahimahi_is_a_millisecond_that_carries_1500_bytes() {
    let schedule = parse("0\n4\n4\r\n10\n");
    assert_eq!(schedule, Schedule::Opportunities([0, 4, 4, 10].map(Nanos::from_millis).to_vec()));
    // Four packets of 12 000 bits in 10 ms; two of them in one millisecond.
    assert_eq!((schedule.mean(), schedule.fastest()), (Rate(4_800_000), Rate(24_000_000)));
}

#[test]
fn pairs_are_rounded_to_whole_nanoseconds_and_bits_per_second() {
    let schedule = parse("time,Mbit/s\n0,10\n0.5,0\n1.0000000004 , 2.0000006\n1e1,3\n");
    let steps = [(0, 10_000_000), (500_000_000, 0), (1_000_000_000, 2_000_001), (10_000_000_000, 3_000_000)];
    assert_eq!(schedule, Schedule::Rates(steps.map(|(time, rate)| (Nanos(time), Rate(rate))).to_vec()));
    // 5 Mbit in half a second, and 18 000 009 bit in nine seconds, over ten seconds.
    assert_eq!((schedule.mean(), schedule.fastest()), (Rate(2_300_000), Rate(10_000_000)));
    assert_eq!(parse("0,7.5\n").mean(), Rate(7_500_000));
}

#[test]
fn a_millisecond_carries_no_more_than_the_fastest_link() {
    // 100 Tbit/s x 1 ms / 12 000 bits = 8 333 333.3 packets.
    let fastest = "3\n7\n".to_owned() + &"9\n".repeat(8_333_333);
    assert!(parse(&fastest).fastest() <= limits::RATE);
    let error = Schedule::parse(&(fastest + "9\n"), "x").expect_err("too fast").to_string();
    assert_eq!(error, "x:3:1: 8333334 packets leave in the millisecond from 9 ms; expected at most 8333333");
}

#[test]
fn a_trace_of_a_program_is_that_of_a_file_with_the_same_times() {
    let ms = Nanos::from_millis;
    let built = LinkTrace::opportunities("lte", vec![ms(0), ms(4), ms(4), ms(10)]).expect("valid");
    assert_eq!(*built.schedule, parse("0\n4\n4\n10\n"));
    let steps = vec![(ms(0), Rate(10_000_000)), (ms(500), Rate(0)), (ms(1000), Rate(2_000_000))];
    let built = LinkTrace::rates("wifi", steps).expect("valid");
    assert_eq!((&built.file[..], &*built.schedule), ("wifi", &parse("0,10\n0.5,0\n1,2\n")));
    // printf '0,10000000\n500000000,0\n1000000000,2000000\n' | sha256sum
    assert_eq!(built.sha256, "63807f5cc0c1a0a9dc742d91b8df5c47ec0c8d9b15ec4445b84e39625a637af1");
}

#[test]
fn times_between_milliseconds_count_in_every_window_of_one() {
    let us = |us: u64| Nanos(us * 1000);
    let times = [300, 900, 1200, 1299, 1300, 4000].map(us).to_vec();
    let schedule = LinkTrace::opportunities("x", times).expect("valid").schedule;
    // Four packets leave from 0.3 ms on before 1.3 ms, and six of 12 000 bits in 4 ms.
    assert_eq!((schedule.mean(), schedule.fastest()), (Rate(18_000_000), Rate(48_000_000)));
}

#[test]
fn an_invalid_trace_of_a_program_is_refused_with_its_entry() {
    let ms = Nanos::from_millis;
    let times = |times: &[u64]| {
        let times = times.iter().map(|&time| ms(time)).collect();
        LinkTrace::opportunities("lte", times).expect_err("invalid").to_string()
    };
    assert_eq!(times(&[]), "lte: entry 1: the trace is empty");
    assert_eq!(times(&[5, 6, 4]), "lte: entry 3: 4 ms lies before the 6 ms above it");
    let at_zero = "lte: entry 2: the trace ends at 0 ms, where it begins; expected a last time above zero";
    assert_eq!(times(&[0, 0]), at_zero);
    assert_eq!(times(&[100_000_000_001]), "lte: entry 1: 100000000.001 s is above the limit of 100000000 s");
    let rates = |steps: &[(u64, u64)]| {
        let steps = steps.iter().map(|&(from, rate)| (ms(from), Rate(rate))).collect();
        LinkTrace::rates("wifi", steps).expect_err("invalid").to_string()
    };
    assert_eq!(rates(&[]), "wifi: entry 1: the trace has no rates");
    assert_eq!(rates(&[(1, 5)]), "wifi: entry 1: there is no rate before 1 ms");
    assert_eq!(rates(&[(0, 5), (2, 6), (2, 7)]), "wifi: entry 3: 2 ms does not lie after the 2 ms above it");
    let last = "wifi: entry 2: the last rate holds to the end, and 0 bit/s carries nothing; expected a last rate above zero: leave out the outage at the end, or add the time and the rate after it";
    assert_eq!(rates(&[(0, 5), (1, 0)]), last);
    assert_eq!(rates(&[(0, 200_000_000_000)]), "wifi: entry 1: 200 Gbit/s is above the limit of 100 Gbit/s");
}

fn steps(seconds_and_mbit: &[(f64, f64)]) -> Schedule {
    let step =
        |&(time, rate): &(f64, f64)| (Nanos((time * 1e9).round() as u64), Rate((rate * 1e6).round() as u64));
    Schedule::Rates(seconds_and_mbit.iter().map(step).collect())
}

fn chosen(text: &str, columns: Columns) -> Result<Schedule, String> {
    Schedule::parse_columns(text, "x", &columns).map_err(|error| error.to_string())
}

fn column(name: &str) -> Columns {
    Columns { column: Some(name.into()), ..Columns::default() }
}

#[test]
fn seconds_and_megabits_are_read_with_any_separator_and_heading() {
    let expected = steps(&[(0.0, 4.1), (0.55, 4.8), (0.88, 4.5)]);
    for separator in ["\t", " ", "   ", ",", ", ", ";", " ; "] {
        let rows = |heading: &str| {
            [heading, "0.0 4.1", "0.55 4.8", "0.88 4.5", ""].join("\n").replace(' ', separator)
        };
        for heading in ["", "time Mbit/s", "timestamp bandwidth", "Time Throughput", "seconds mbps"] {
            assert_eq!(parse(rows(heading).trim_start()), expected, "{heading:?} {separator:?}");
        }
    }
    for text in [
        "\u{feff}0.0,4.1\r\n0.55,4.8\r\n0.88,4.5\r\n",
        "# a trace\n\n0,4.1\n# a gap\n0.55,4.8,\n 0.88 ,4.5\n\n",
        "\"time\";\"rate [Mbit/s]\"\n\"0\";\"4.1\"\n0.55;4.8\n.88;4.5\n",
        "rate,time\n4.1,0\n4.8,0.55\n4.5,0.88\n",
        "time (ms),bandwidth (kbit/s)\n0,4100\n550,4800\n880,4500\n",
        "time_us\tthroughput_bps\n0\t4100000\n550000\t4.8e6\n880000\t4500000\n",
        "t;bytes_sec\n0;512500\n0.55;6e5\n0.88;562500\n",
        "# time bandwidth_kbps\n0 4100\n0.55 4800\n0.88 4500\n",
        "hour,min,timestamp,rate\n7,1,0,4.1\n7,1,0.55,4.8\n7,1,0.88,4.5\n",
        "time_of_day,rate\n0,4.1\n0.55,4.8\n0.88,4.5\n",
    ] {
        assert_eq!(parse(text), expected, "{text:?}");
    }
}

#[test]
fn mahimahis_format_is_one_column_with_or_without_comments() {
    let expected = Schedule::Opportunities([1, 1, 3].map(Nanos::from_millis).to_vec());
    for text in ["1\n1\n3\n", "\u{feff}1\r\n1\r\n3", "# mahimahi\n1\n1\n3\n", " 1\n1\t\n3\n"] {
        assert_eq!(parse(text), expected, "{text:?}");
    }
    let error = chosen("1\n2\n", column("DL_bitrate")).expect_err("it has no names");
    assert!(error.starts_with("x:1:1: the trace has one column"), "{error}");
}

#[test]
fn times_count_from_the_first_and_absolute_ones_have_the_unit_of_their_size() {
    let expected = steps(&[(0.0, 3.17), (0.431, 3.18), (10.0, 2.0)]);
    // `date -u -d @1728568536` says 2024-10-10 13:55:36.
    for times in [
        ["0.474", "0.905", "10.474"],
        ["1728568536.474", "1728568536.905", "1728568546.474"],
        ["1728568536474", "1728568536905", "1728568546474"],
        ["1728568536474000", "1728568536905000", "1728568546474000"],
        ["1728568536474000001", "1728568536905000001", "1728568546474000001"],
        ["2024-10-10T13:55:36.474Z", "2024-10-10T13:55:36.905Z", "2024-10-10T13:55:46.474Z"],
        ["2024-10-10T13:55:36.474+00:00", "2024-10-10T15:55:36.905+02:00", "2024-10-10T13:55:46.474Z"],
    ] {
        let rates = ["3.17", "3.18", "2"];
        let text: String = times.iter().zip(rates).map(|(time, rate)| format!("{time},{rate}\n")).collect();
        assert_eq!(parse(&text), expected, "{text}");
        assert_eq!(parse(&format!("time,Mbit/s\n{text}")), expected, "{text}");
    }
    // A unit that is stated counts.
    let in_ms = Columns { time_unit: TimeUnit::of("ms"), ..Columns::default() };
    assert_eq!(chosen("474,3.17\n905,3.18\n10474,2\n", in_ms), Ok(expected));
}

/// A file of the 5G collection of University College Cork (D. Raca and others, MMSys 2020): dates with whole seconds, kbit/s.
const CORK: &str =
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,DL_bitrate,UL_bitrate,State
2020.01.01_00.00.59,-8.4,51.9,0,A,1,LTE,-97,12000,3,D
2020.01.01_00.01.00,-8.4,51.9,2,A,1,5G,-,48000,30,D
2020.01.01_00.01.00,-8.4,51.9,2,B,2,5G,-,47000,20,D
2020.01.01_00.01.02,-8.4,51.9,2,B,2,5G,-,10,70,D
";

#[test]
fn columns_are_chosen_by_name_in_the_unit_of_their_collection() {
    // Two rows of one second: the last holds.
    assert_eq!(chosen(CORK, column("DL_bitrate")), Ok(steps(&[(0.0, 12.0), (1.0, 47.0), (3.0, 0.01)])));
    assert_eq!(chosen(CORK, column("UL_bitrate")), Ok(steps(&[(0.0, 0.003), (1.0, 0.02), (3.0, 0.07)])));
    // Another unit replaces that of the collection.
    let bits = Columns { unit: RateUnit::of("bit/s"), ..column("DL_bitrate") };
    assert_eq!(chosen(CORK, bits), Ok(steps(&[(0.0, 0.012), (1.0, 0.047), (3.0, 0.000_01)])));
    // Puffer's video_sent: nanoseconds since 1970, bytes a second (F. Yan and others, NSDI 2020).
    let puffer = "time (ns GMT),session_id,index,video_ts,size,rtt,delivery_rate
1546379215123456789,a,0,0,1,2,1250000
1546379216123456789,a,0,0,1,2,250000
";
    assert_eq!(parse(puffer), steps(&[(0.0, 10.0), (1.0, 2.0)]));
    // FCC's webget measurements (curr_webget.csv): dates, bytes a second.
    let fcc = "unit_id,dtime,target,fetch_time,bytes_total,bytes_sec,threads
386,2016-07-01 00:00:12,x,2500000,900000,375000,1
386,2016-07-01 00:00:42,x,2500000,900000,125000,1
";
    assert_eq!(parse(fcc), steps(&[(0.0, 3.0), (30.0, 1.0)]));
    // Lumos5G: its times have no name of a time.
    let lumos = "run_num,seq_num,nrStatus,Throughput\n1,1,CONNECTED,480\n1,2,CONNECTED,0\n1,3,CONNECTED,9\n";
    let by_number = Columns { time: Some("seq_num".into()), ..Columns::default() };
    assert_eq!(chosen(lumos, by_number), Ok(steps(&[(0.0, 480.0), (1.0, 0.0), (2.0, 9.0)])));
}

const UNCLEAR: &str = "x:1:1: the unit in the name of the rate could be one of bits or of bytes, has no time, or is another; expected in trace = { file";

#[test]
fn a_unit_is_read_in_the_ways_in_which_files_write_it() {
    // A rate of 8 in this unit, in bit/s.
    for (name, rate) in [
        ("rate", 8_000_000),
        ("bit_rate", 8_000_000),
        ("bandwidth [bit/s]", 8),
        ("throughput_bps", 8),
        ("bits_per_second", 8),
        ("rate (kbit per s)", 8_000),
        ("Kbps", 8_000),
        ("kb/s", 8_000),
        ("DL_bitrate", 8_000),
        ("DL_bitrate (Mbit/s)", 8_000_000),
        ("mbps", 8_000_000),
        ("Mbits/sec", 8_000_000),
        ("rate_Gbit_s", 8_000_000_000),
        ("B/s", 64),
        ("bytes_sec", 64),
        ("rate (kB/s)", 64_000),
        ("MBps", 64_000_000),
        ("delivery_rate", 64),
    ] {
        assert_eq!(parse(&format!("time,{name}\n0,8\n")).fastest(), Rate(rate), "{name}");
    }
}

#[test]
fn columns_that_cannot_be_told_apart_are_refused_with_the_choices() {
    let refused = |text: &str, columns: Columns| chosen(text, columns).expect_err(text);
    for (text, columns, message) in [
        (
            CORK,
            Columns::default(),
            "x:1:1: 2 columns could be the rate; expected in trace = { file = …, … } column = \"DL_bitrate\" or column = \"UL_bitrate\"",
        ),
        (
            CORK,
            column("DL_bitrat"),
            "x:1:1: there is no column \"DL_bitrat\"; expected one of: Timestamp, Longitude, Latitude, Speed, Operatorname, CellID, NetworkMode, RSRP, DL_bitrate, UL_bitrate, State; did you mean \"DL_bitrate\"?",
        ),
        (CORK, column("RSRP"), "x:2:1: \"-97\" is not a rate; expected"),
        (CORK, column("State"), "x:2:1: this line is not numbers, so it is not a rate"),
        ("start_time,end_time,Mbps\n0,1,2\n", Columns::default(), "x:1:1: 2 columns could be the time"),
        ("time,rtt\n0,1\n", Columns::default(), "x:1:1: no column is recognised as the rate; expected in"),
        // Rates of other things, and times in other units.
        ("time,loss_rate\n0,1\n", Columns::default(), "x:1:1: no column is recognised as the rate"),
        ("time,bandwidth (MHz)\n0,20\n", Columns::default(), "x:1:1: no column is recognised as the rate"),
        ("time,rate_pps\n0,1\n", Columns::default(), "x:1:1: no column is recognised as the rate"),
        ("time,rate_pps\n0,1\n", column("rate_pps"), UNCLEAR),
        ("time (min),Mbps\n0,1\n", Columns::default(), "x:1:1: the time has a unit that is not read"),
        ("hours;rate\n0;1\n", Columns::default(), "x:1:1: the time has a unit that is not read; expected in"),
        ("seq,Mbps\n0,1\n", Columns::default(), "x:1:1: no column is recognised as the time"),
        ("time,rate,rate\n0,1,2\n", column("rate"), "x:1:1: 2 columns are named \"rate\""),
        ("time,RATE_MBPS\n0,1\n", Columns::default(), UNCLEAR),
        ("time,throughput_kbs\n0,1\n", Columns::default(), UNCLEAR),
        ("time,rate (kb)\n0,1\n", Columns::default(), UNCLEAR),
        ("time,throughput [KBytes]\n0,1\n", Columns::default(), UNCLEAR),
        ("time,rate_bits\n0,1\n", Columns::default(), UNCLEAR),
        ("0 1 2\n1 2 3\n", Columns::default(), "x:1:1: \"0 1 2\" is not such a pair"),
        ("0 1\n1 2\n", column("rate"), "x:1:1: there is no column \"rate\": no line has names of columns"),
        ("# kbit/s\n0 1000\n", Columns::default(), "x:2:1: a comment above has the unit kbit/s"),
        (
            "user,secret\n0,1\n",
            Columns::default(),
            "x:1:1: this line is not numbers, so it is not such a pair",
        ),
        (
            "user,secret\n0,1\n",
            column("x"),
            "x:1:1: there is no column \"x\"; expected the name of a column of the file",
        ),
    ] {
        let error = refused(text, columns);
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn rows_that_no_rate_follows_from_are_refused_with_their_line() {
    for (text, message) in [
        ("time,rate\n0,1\n1,2\n0.5,3\n", "x:4:1: 500 ms does not lie after the 1 s above it"),
        ("time,rate\n5,1\n1,2\n", "x:3:1: 1 lies before the first time"),
        ("0;1,5\n1;2,5\n", "x:1:1: \"1,5\" has a decimal comma"),
        ("time,rate\n0,1\n1\n", "x:3:1: this line has 1 column, the line with the names has 2"),
        ("time,rate\n0,1\n# x\n1,\n", "x:4:1: this line has 1 column"),
        ("time,rate\n0,1\n1,NaN\n", "x:3:1: this line is not numbers, so it is not a rate"),
        ("time,kbps\n0,1e9\n", "x:2:1: 1e9 kbit/s is above the limit of 100000000 kbit/s"),
        ("time,kbps\n0,0.0001\n", "x:2:1: 0.0001 kbit/s is below the limit of 1 bit/s"),
        ("unit_id,time,rate\n1,0,1\n2,1,2\n", "x:3:1: the rows are those of several sessions"),
        ("0 12.5\n1 2\n2 0\n", "x:3:1: the last rate holds to the end, and 0 bit/s carries nothing"),
        ("2024-01-01 12:00:00 5\n", "x:1:1: "),
        (
            "time,rate\n2024-01-01T12:00:00Z,5\n2024-01-01T12:00:00.5Z,6\n2024-01-01T12:00:00.5Z,7\n",
            "x:4:1: 500 ms does not",
        ),
    ] {
        let error = Schedule::parse(text, "x").expect_err(text).to_string();
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
}

#[test]
fn logs_of_amounts_have_the_rate_of_each_line_over_the_time_before_it() {
    // Example on Ghent University's page of its 4G logs (J. van der Hooft and others): 2,493,100 B in 1000 ms are 19,944,800 bit/s.
    let ghent = "1453121790686 39287 51.0386528885778 3.73220785642186 2493100 1000
1453121791687 40288 51.0386532820580 3.73222847166054 2763504 1001
1453121792686 41287 51.0386553301824 3.73225142858955 2728896 0999
1453121793686 42287 51.0386567711171 3.73227435543338 1954600 1000
";
    let steps = [(0, 19_944_800), (1000, 22_085_946), (2001, 21_853_021), (3000, 15_636_800)];
    assert_eq!(
        parse(ghent),
        Schedule::Rates(steps.map(|(ms, rate)| (Nanos::from_millis(ms), Rate(rate))).to_vec())
    );
    // Example on Simula's page of the Norwegian HSDPA logs (H. Riiser and others): seconds since 1970, blanks in columns.
    let norway = "1289406399 549692 59.851754 10.781778 248069 1008
1289406400 550772 59.851864 10.781833 191698 1080
1289406401 551773 59.851964 10.781901 280579 1001
1289406402 552893 59.85206  10.781969 248971 1120
";
    let steps = [(0, 1_968_802), (1008, 1_419_985), (2088, 2_242_390), (3089, 1_778_364)];
    assert_eq!(
        parse(norway),
        Schedule::Rates(steps.map(|(ms, rate)| (Nanos::from_millis(ms), Rate(rate))).to_vec())
    );
    for (text, message) in [
        (norway.replace("551773", "550772"), "x:3:1: the time does not lie after that of the line before"),
        (norway.replace("280579", "-"), "x:3:1: this line has other columns than the first two"),
        (norway.replace("248971", "0"), "x:4:1: the last rate holds to the end, and 0 bit/s carries nothing"),
        // Six columns that do not agree are not such a log.
        (norway.replace("1080", "1081"), "x:1:1: \"1289406399 549692 59"),
    ] {
        let error = Schedule::parse(&text, "x").expect_err(message).to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn numbers_without_units_that_are_hardly_seconds_and_megabits_are_refused() {
    // Oboe's trace_1 (Z. Akhtar and others, SIGCOMM 2018): milliseconds and kbit/s; 4.6 Gbit/s over 49 hours was read.
    let oboe = "7.0 4646.670926517572\n320.0 4646.670926517572\n176473.0 5297.6\n";
    let hint = "; expected the units: trace = { file = …, unit = \"kbit/s\", time_unit = \"ms\" }, or unit = \"Mbit/s\"";
    let error = chosen(oboe, Columns::default()).expect_err("other units");
    let problem =
        "x:1:1: without units, these are rates up to 5.2976 Gbit/s over 176466 s, which is hardly meant";
    assert!(error.starts_with(problem) && error.contains(hint), "{error}");
    let stated = |unit, time| Columns {
        unit: RateUnit::of(unit),
        time_unit: TimeUnit::of(time),
        ..Columns::default()
    };
    let right = steps(&[(0.0, 4.646_671), (0.313, 4.646_671), (176.466, 5.2976)]);
    assert_eq!(chosen(oboe, stated("kbit/s", "ms")), Ok(right));
    assert_eq!(chosen(oboe, stated("Mbit/s", "s")).map(|trace| trace.fastest()), Ok(Rate(5_297_600_000)));
    for (text, is_read) in [
        ("0 10000\n1 9000\n", true),
        ("0 10001\n1 9000\n", false),
        ("0 37\n86400 30\n", true),
        ("0 37\n86401 30\n", false),
        ("0 100\n3601 90\n", true),
        ("0 101\n3601 90\n", false),
        ("0 4000\n3600 90\n", true),
        ("time rate\n0 101\n3601 90\n", false),
        ("time_s rate\n0 101\n3601 90\n", true),
        ("time rate_mbps\n0 101\n3601 90\n", true),
        ("time rate_mbps\n0 101\n86401 90\n", false),
        ("time_s rate\n0 10001\n1 90\n", false),
        ("1700000000 101\n1700090000 90\n", true),
        ("2024-01-01T00:00:00Z 5\n2024-01-03T00:00:00Z 9\n", true),
    ] {
        assert_eq!(Schedule::parse(text, "x").is_ok(), is_read, "{text:?}");
    }
}
