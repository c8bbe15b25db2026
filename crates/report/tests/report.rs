//! Texts and files of the report.

use crate::fixture;
use crate::hostile;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use firstflight_report::{
    Colour, Folder, NETWORKS_FILE, PARQUET_FILE, REPORT_FILE, answer, brief, html, parquet, printable, table,
    whole_answer, write_all,
};
use firstflight_results::{CompareReport, ForAllSizes, Harm, Risk, SchemeResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};

fn parquet_bytes(report: &CompareReport) -> Vec<u8> {
    let mut bytes = Vec::new();
    parquet(report, &mut bytes).expect("memory takes everything");
    bytes
}

/// Reader of the Parquet file of `report`, written to disk.
fn read_back(test: &str, report: &CompareReport) -> SerializedFileReader<File> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.parquet"));
    fs::write(&file, parquet_bytes(report)).expect("the test folder is writable");
    SerializedFileReader::new(File::open(file).expect("just written")).expect("a Parquet file")
}

fn plain(report: &CompareReport, width: usize) -> String {
    table(report, width, Colour::None)
}

/// Path of a folder that only this test uses and that does not exist.
fn folder(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&dir);
    dir
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .expect("the folder is there")
        .map(|e| e.expect("readable").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

/// Sets the median, the difference from the baseline with its interval, and the dropped packets of `result`.
fn set(result: &mut SchemeResult, median: f64, relative: [f64; 3], drops: f64) {
    let completion = result.completion_s.as_mut().expect("the fixture's transfers finish");
    completion.median = median;
    if let Some(difference) = &mut result.against_baseline {
        difference.relative = relative[0];
        difference.relative_ci95 = [relative[1], relative[2]];
    }
    result.drops.mean = drops;
}

/// Report of two schemes at one size: the baseline with 400 ms and 3 drops, and jump-start.
fn two(median: f64, relative: [f64; 3], drops: f64, ties: bool) -> CompareReport {
    let mut report = fixture::from_path();
    let comparison = &mut report.comparison;
    comparison.results.retain(|r| r.scheme == "slow-start+cubic" || r.scheme == "jump-start+cubic");
    comparison.schemes.retain(|s| s == "slow-start+cubic" || s == "jump-start+cubic");
    comparison.results.sort_by_key(|r| r.scheme != "jump-start+cubic");
    let [jump, base] = &mut comparison.results[..] else { panic!("two schemes were kept") };
    set(jump, median, relative, drops);
    set(base, 0.4, [0.0; 3], 3.0);
    (jump.rank, base.rank) = (1, 2);
    (jump.ties_with_best, base.ties_with_best) = (true, ties);
    comparison.recommended = fixture::recommended(&comparison.results);
    report.traces.clear();
    report
}

#[test]
fn the_answer_at_a_glance_has_at_most_24_lines_of_80_columns() {
    let text = answer(&fixture::from_capture(), 80, Colour::None);
    let expected = "\
Set the initial window to 20: transfers end 23 % sooner; others wait a little
longer.

  ip route change $(ip route show default) initcwnd 20

   size  share     now    then
  30 KB   60 %  250 ms  170 ms  ████████████████░░░░░░░░  32 % sooner
   1 MB   30 %  810 ms  730 ms  ██████████████████████░░  9.9 % sooner
   5 MB   10 %  1.90 s  1.95 s  ████████████████████████  2.6 % later

Cost      1.25 packets lost per transfer (now 1.50); others wait at most 13 %
          longer (limit 10 %); the slowest 1 in 20 of 5 MB end 6.9 % later.
Trust     sure: re-runs of the captured connections are off by 2 %, and the gain
          is at least 19 %. A transfer ends sooner with a probability of 0.84.
Path      Inferred from office-uplink.pcapng: 40 Mbit/s, round-trip time 80 ms,
          buffer unknown, no random loss seen (at most 0.04 %).
Sizes     12 % of the captured transfers are smaller or larger than these sizes,
          and do not count.
Research  jump-start+cubic ends transfers 31 % sooner, but is not in this stack,
          and costs more than the limits allow.
Check     Capture again, then: firstflight effect before.pcap after.pcap
";
    assert_eq!(text, expected);
    for report in [fixture::from_capture(), fixture::from_path(), fixture::from_server()] {
        let text = answer(&report, 80, Colour::None);
        assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

/// Rows of a terminal of 80 columns, which breaks longer lines.
fn rows(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum()
}

#[test]
fn an_answer_with_many_commands_sizes_and_words_has_24_rows_and_counts_the_others() {
    let mut report = fixture::from_capture();
    let answered = report.comparison.answer.as_mut().expect("an answer");
    answered.commands = (0..9)
        .map(|n| format!("ip route change 192.0.2.{n} via 198.51.100.1 dev eth0 initcwnd 20"))
        .collect();
    let text = answer(&report, 80, Colour::None);
    assert!(rows(&text) <= 24, "{text}");
    let shown = text.lines().filter(|line| line.starts_with("  ip route")).count();
    assert!(shown >= 1 && text.contains(&format!("\n  ({} more: --details)\n", 9 - shown)), "{text}");
    let whole = whole_answer(&report, 80, Colour::None);
    assert!(
        (0..9).all(|n| whole.contains(&format!("192.0.2.{n} "))) && !whole.contains("more: --details"),
        "{whole}"
    );

    // Long names, and sizes without an end.
    report.comparison.title = "capture-".repeat(40);
    report.comparison.path.inferred_from = Some("capture of the office ".repeat(20));
    let answered = report.comparison.answer.as_mut().expect("an answer");
    answered.trust_why = "re-runs of the captured connections are off by a lot ".repeat(9);
    answered.sizes = (1..40)
        .map(|n| firstflight_results::AnswerAtSize { size_bytes: n * 30_000, ..answered.sizes[0] })
        .collect();
    let text = answer(&report, 80, Colour::None);
    assert!(rows(&text) <= 24, "{text}");
    for name in ["Cost", "Trust", "Path", "Sizes", "Research", "Check"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    assert!(text.contains("\n  (36 more: --details)\n") && text.contains('…'), "{text}");
    let whole = whole_answer(&report, 80, Colour::None);
    assert_eq!(whole.lines().filter(|line| line.contains(" % sooner")).count(), 39 + 2, "{whole}");
}

#[test]
fn the_brief_answer_is_one_line_with_trust_and_command() {
    assert_eq!(
        brief(&fixture::from_capture()),
        "Set the initial window to 20: transfers end 23 % sooner; others wait a little longer. (sure) \
         ip route change $(ip route show default) initcwnd 20\n"
    );
}

#[test]
fn external_text_in_the_answer_cannot_control_the_terminal() {
    let mut report = fixture::from_capture();
    let answered = report.comparison.answer.as_mut().expect("an answer");
    for text in [&mut answered.sentence, &mut answered.trust_why, &mut answered.commands[0]] {
        text.push_str("\u{1b}[31m");
    }
    answered.later_networks = vec!["\u{7}203.0.113.0/24".into()];
    let shown = answer(&report, 80, Colour::None) + &brief(&report);
    assert!(!shown.contains(['\u{1b}', '\u{7}']) && shown.contains("203.0.113.0/24"), "{shown}");
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let (one, other) = (fixture::from_capture(), fixture::from_capture());
    assert_eq!(html(&one), html(&other));
    assert_eq!(parquet_bytes(&one), parquet_bytes(&other));
    assert_eq!(plain(&one, 100), plain(&other, 100));
}

#[test]
fn the_answer_states_the_recommendation_its_gain_with_its_range_its_cost_and_how_far_to_trust_it() {
    let text = plain(&two(0.308, [-0.23, -0.25, -0.21], 12.3, false), 1000);
    assert!(
        text.contains(
            "Use jump-start: it ends 1 MB in 308 ms in the median, 23 % sooner (95 % interval 21 % to 25 %) than \
             slow-start.\nIt drops 12.3 packets per transfer (slow-start: 3).\nHow far to trust it: as far as the path"
        ),
        "{text}"
    );
}

#[test]
fn a_gain_whose_interval_contains_zero_or_that_is_too_small_is_no_difference_worth_having() {
    let text = plain(&two(0.38, [-0.05, -0.12, 0.01], 3.0, true), 1000);
    let none = "No difference worth having: the fastest, jump-start, is ";
    assert!(
        text.contains(&format!(
            "{none}5.0 % sooner (95 % interval 1.0 % later to 12 % sooner) than slow-start."
        )),
        "{text}"
    );
    let text = plain(&two(0.393, [-0.019, -0.02, -0.018], 3.0, true), 1000);
    assert!(
        text.contains(&format!("{none}1.9 % sooner (95 % interval 1.8 % to 2.0 %) than slow-start.")),
        "{text}"
    );
    assert!(!text.contains("Use ") && !text.contains("\n>"), "{text}");
}

#[test]
fn a_tie_has_no_winner() {
    let text = plain(&two(0.4, [0.0; 3], 3.0, true), 1000);
    assert!(text.contains("No difference worth having: every scheme takes 400 ms in the median."), "{text}");
}

#[test]
fn a_winning_baseline_is_not_compared_with_itself() {
    let mut report = two(0.5, [0.25, 0.2, 0.3], 40.0, false);
    report.comparison.results.swap(0, 1);
    let [base, jump] = &mut report.comparison.results[..] else { panic!("two schemes") };
    (base.rank, jump.rank) = (1, 2);
    let text = plain(&report, 1000);
    let expected = "No difference worth having: slow-start is the fastest, with a median of 400 ms.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn several_sizes_are_answered_together_and_a_size_without_a_gain_is_named() {
    let mut report = fixture::from_capture();
    let answer = plain(&report, 1000);
    let expected = "Use jump-start for 30 KB and 1 MB: 35 % to 48 % sooner than slow-start (95 % intervals within 33 % to \
                    49 %); for 5 MB no difference is worth having.\nCost: 0 packets dropped per transfer (slow-start: 0 to 31).";
    assert!(answer.contains(expected), "{answer}");
    let mut gains = report.clone();
    gains.comparison.results.retain(|it| it.size_bytes < 5_000_000);
    gains.comparison.recommended.truncate(2);
    let answer = plain(&gains, 1000);
    let expected = "Use jump-start for every size from 30 KB to 1 MB: 35 % to 48 % sooner than slow-start (";
    assert!(answer.contains(expected), "{answer}");
    for one in &mut report.comparison.recommended {
        one.scheme = None;
    }
    let text = plain(&report, 1000);
    let expected = "Keep slow-start for 30 KB and 1 MB: no gain is worth its cost; for 5 MB no difference is worth having.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn one_start_for_all_sizes_is_the_answer_and_the_best_for_each_size_stands_below() {
    let mut report = fixture::from_capture();
    let one = |scheme: Option<&str>, why: &str| ForAllSizes {
        scheme: scheme.map(String::from),
        initial_window_packets: None,
        gain: None,
        sooner: None,
        as_fast: vec![],
        undecided: vec![],
        why: why.into(),
    };
    report.comparison.for_all_sizes = Some(one(Some("hystart+++cubic"), ""));
    let text = plain(&report, 1000);
    let answer = "\nUse hystart++ for every size from 30 KB to 5 MB: 12 % later to ";
    let alone = "\nFor one size alone: use jump-start for 30 KB and 1 MB: 35 % to 48 % sooner than slow-start (95 % intervals within \
                 33 % to 49 %); for 5 MB no difference is worth having.\n";
    assert!(text.contains(answer) && text.contains(alone), "{text}");
    let page = html(&report);
    let [first, second] = ["hystart++, for all sizes", "jump-start, for 30\u{a0}KB and 1\u{a0}MB"]
        .map(|title| page.find(title));
    assert!(
        first.expect("all sizes") < second.expect("two sizes"),
        "the one for all sizes is the first to do"
    );
    // Where the best at each size is the same scheme, it is said once.
    let mut same = report.clone();
    for of_size in &mut same.comparison.recommended {
        of_size.scheme = Some("hystart+++cubic".into());
    }
    let text = plain(&same, 1000);
    assert!(
        text.contains("\nUse hystart++ for every size") && !text.contains("For one size alone"),
        "{text}"
    );
    report.comparison.for_all_sizes =
        Some(one(None, "over all sizes together, no gain over it is worth having"));
    let text = plain(&report, 1000);
    let none = "\nOne start for all sizes: none. Over all sizes together, no gain over it is worth having.\n";
    assert!(text.contains("\nUse jump-start for 30 KB and 1 MB: ") && text.contains(none), "{text}");
}

#[test]
fn without_an_answer_nothing_is_recommended_or_ranked() {
    let mut report = fixture::from_capture();
    report.comparison.no_answer = Some("re-runs are off by 316 %".into());
    for shown in [plain(&report, 1000), html(&report)] {
        let expected = "No answer: re-runs are off by 316 %. No scheme is recommended.";
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("Use jump-start"), "{shown}");
        assert!(!shown.contains("<table class=\"ranking\">"), "{shown}");
    }
    assert!(!plain(&report, 1000).contains(", completion time"));
    assert!(html(&fixture::from_capture()).contains("<table class=\"ranking\">"));
    assert!(html(&report).contains("There is no ranking: re-runs are off by 316 %."));
}

#[test]
fn beside_the_median_stands_its_interval_or_the_range_of_a_further_transfer_under_its_own_name() {
    let (given, captured) = (fixture::from_path(), fixture::from_capture());
    let (interval, range) = ("interval of the median (95 %)", "range of a further transfer (90 %)");
    let page = |report| html(report).replace('\u{a0}', " ");
    for (shown, yes, no) in [
        (plain(&given, 1000), interval, range),
        (page(&given), interval, range),
        (plain(&captured, 1000), range, interval),
        (page(&captured), range, interval),
    ] {
        assert!(shown.contains(yes) && !shown.contains(no), "{shown}");
    }
    // 1 MB by slow start: the interval ends at 0.985 and 1.012 of the median, the range at 0.94 and 1.09.
    let base = given.comparison.results.iter().find(|it| it.scheme == "slow-start+cubic").expect("there");
    let ms = |share: f64| format!("{:.1}", base.completion_s.expect("finished").median * share * 1e3);
    let row = |report: &CompareReport| {
        let text = plain(report, 1000);
        let from = text.find("\n1 MB, completion time").expect("a table");
        text[from..].lines().skip(3).find(|line| line.contains(" slow-start ")).expect("a row").to_owned()
    };
    assert!(row(&given).contains(&format!("[{}–{}]", ms(0.985), ms(1.012))), "{}", row(&given));
    assert!(row(&captured).contains(&format!("[{}–{}]", ms(0.94), ms(1.09))), "{}", row(&captured));
}

#[test]
fn schemes_that_did_the_same_share_a_row_and_a_line() {
    let mut report = fixture::from_path();
    report.comparison.same =
        vec![["limited-slow-start+cubic", "slow-start+cubic", "hystart+++cubic"].map(String::from).into()];
    let text = plain(&report, 1000);
    // The baseline stands for its group; the others are named below it.
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("1 MB")).skip(2).take(6).collect();
    let at = rows.iter().position(|row| row.contains(" slow-start ")).expect("the baseline has a row");
    let names = rows[at + 1..at + 3].iter().map(|row| row.trim_start());
    assert!(names.eq(["= limited-slow-start", "= hystart++"]), "{text}");
    let ranks: Vec<char> =
        rows.iter().filter_map(|row| row.trim_start_matches(['>', ' ']).chars().next()).collect();
    assert_eq!(ranks.iter().filter(|c| c.is_ascii_digit()).collect::<String>(), "1234", "{text}");
    let page = html(&report);
    let legend = "slow-start = limited-slow-start = hystart++";
    assert!(page.contains(&format!("\"name\":\"{legend}\"")), "one line in the plots");
    assert!(!page.contains("\"name\":\"hystart++\""), "no second line");
    // Programs get every scheme.
    let reader = read_back("same", &report);
    assert_eq!(reader.get_row_iter(None).expect("rows").count(), 6 * 30);
}

#[test]
fn schemes_that_did_the_same_at_one_size_share_a_row_there() {
    let mut report = fixture::from_capture();
    for result in &mut report.comparison.results {
        if result.size_bytes == 30_000 && result.scheme.starts_with("hy") {
            result.same_as = Some("slow-start+cubic".into());
        }
    }
    let text = plain(&report, 100);
    let small = &text[text.find("\n30 KB").expect("a table")..text.find("\n1 MB").expect("a table")];
    let large = &text[text.find("\n1 MB").expect("a table")..text.find("\n5 MB").expect("a table")];
    let names: Vec<&str> = small.lines().map(str::trim).filter(|line| line.starts_with("= ")).collect();
    assert_eq!(names, ["= hystart++", "= hybrid-slow-start"], "{text}");
    assert!(small.contains("\n 4 ") && !small.contains("\n 5 "), "{text}");
    assert!(!large.contains(" = h") && large.contains("\n 6 "), "{text}");
    let equal = "slow-start</span> <span class=\"scheme\">= hystart++</span> <span class=\"scheme\">= hybrid-slow-start</span>";
    assert!(html(&report).contains(equal));
}

#[test]
fn harm_is_shown_with_its_interval_and_what_it_says_of_the_limit() {
    let mut report = fixture::from_capture();
    let without = plain(&report, 160);
    assert!(!without.contains("harm") && !html(&report).contains("times the present"), "{without}");
    for one in &mut report.comparison.recommended {
        one.max_harm = Some(1.1);
    }
    let bulk = [1.02, 1.10, 1.31];
    for (result, bulk) in report.comparison.results.iter_mut().zip(bulk.into_iter().cycle()) {
        result.harm = Some(Harm {
            bulk,
            bulk_ci95: [bulk - 0.03, bulk + 0.03],
            request_response: 1.0,
            request_response_ci95: [1.0; 2],
            replications: 16,
        });
    }
    let text = plain(&report, 160);
    for cell in ["1.02   [0.99–1.05]", "1.10?  [1.07–1.13]", "1.31!  [1.28–1.34]"] {
        assert!(text.contains(cell), "{cell}: {text}");
    }
    assert!(plain(&report, 1000).contains("?: may be above it"));
    let narrow = plain(&report, 80);
    assert!(narrow.contains("1.31!") && narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let page = html(&report);
    assert!(
        page.contains("may be above the limit")
            && page.contains("above the limit")
            && page.contains("1.28–1.34")
    );
    // The picture has the interval of each mark.
    assert!(page.contains("<path class=\"l i c"));
    // One that may be the best, but for what it may do to others.
    let one = &mut report.comparison.recommended[0];
    (one.scheme, one.undecided) = (None, vec!["jump-start+cubic".into()]);
    assert!(plain(&report, 1000).contains("no gain is shown to be worth its cost"));
}

#[test]
fn a_candidate_that_is_as_fast_is_named_also_if_it_shares_the_row_of_another() {
    let mut report = fixture::from_capture();
    let one = &mut report.comparison.recommended[0];
    assert!(one.scheme.is_some());
    one.as_fast = vec!["twin+cubic".into()];
    assert!(html(&report).contains("As fast, as far as the simulations show: twin."));
}

#[test]
fn the_reason_beside_candidates_that_are_as_fast_is_the_criterion_that_chose() {
    let mut report = fixture::from_capture();
    for (by, sentence) in [
        (&["harm"][..], "jump-start does the least harm of these."),
        (&["change"], "jump-start is the smallest change of these."),
        (
            &["all-sizes"],
            "jump-start is also the one for all sizes: one setting is less change than several.",
        ),
        (&["harm", "change"], "jump-start is the smallest change of those that do the least harm."),
        (
            &["harm", "time"],
            "jump-start is the fastest of those that do the least harm, and no larger change.",
        ),
    ] {
        let one = &mut report.comparison.recommended[0];
        assert_eq!(one.scheme.as_deref(), Some("jump-start+cubic"));
        one.as_fast = vec!["twin+cubic".into()];
        one.chosen_by = by.iter().map(|word| (*word).to_owned()).collect();
        let page = html(&report);
        assert!(
            page.contains(&format!("As fast, as far as the simulations show: twin. {sentence}")),
            "{by:?}"
        );
    }
}

#[test]
fn of_schemes_that_did_the_same_the_one_that_the_stack_has_is_named() {
    let mut report = fixture::from_path();
    // The present scheme is equal to the baseline, and stands behind it in the request.
    report.comparison.present = Some("hystart+++cubic".into());
    report.comparison.same = vec![["slow-start+cubic", "hystart+++cubic"].map(String::from).into()];
    for one in &mut report.comparison.recommended {
        (one.scheme, one.gain, one.why) = (None, None, "no gain over hystart+++cubic is worth having".into());
    }
    let text = plain(&report, 1000);
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let at = lines.iter().position(|line| *line == "= slow-start").expect("below the one that stands for it");
    assert!(lines[at - 1].contains(" hystart++ "), "{text}");
    assert!(text.contains("vs hystart++") && !text.contains("vs slow-start"), "{text}");
    assert!(!text.contains("than slow-start") && !text.contains("Keep slow-start"), "{text}");
}

#[test]
fn a_page_has_one_bandwidth_delay_product() {
    // 40 Mbit/s and 80 ms are 400 000 bytes: 266 packets of 1500 bytes, which carry 1448 each.
    let page = html(&fixture::from_path()).replace('\u{a0}', " ");
    assert!(
        page.contains("Bandwidth-delay product</th><td class=\"num\">266 packets"),
        "in the table of the path"
    );
    assert!(page.contains("\"bdp\":266") && !page.contains("276 packets"), "in the plots");
}

#[test]
fn candidates_that_may_be_as_fast_but_harm_too_much_are_named_in_terminal_and_page() {
    let mut report = fixture::from_capture();
    let size = report.comparison.recommended[0].size_bytes;
    let one = &mut report.comparison.recommended[0];
    assert_eq!(one.scheme.as_deref(), Some("jump-start+cubic"));
    (one.max_harm, one.undecided) = (Some(1.1), vec!["hybrid-slow-start+cubic".into(), "twin+cubic".into()]);
    let mut results = report.comparison.results.iter_mut();
    let open =
        results.find(|it| it.scheme == "hybrid-slow-start+cubic" && it.size_bytes == size).expect("compared");
    open.harm = Some(Harm {
        bulk: 1.08,
        bulk_ci95: [1.03, 1.14],
        request_response: 1.0,
        request_response_ci95: [1.0; 2],
        replications: 16,
    });
    let expected = "As fast or faster, but the harm may exceed the limit of 1.10 (harm, 95 % interval): hybrid-slow-start (1.08, 1.03 to 1.14) and twin.";
    let page = html(&report).replace('\u{a0}', " ");
    for shown in [plain(&report, 1000), page] {
        assert_eq!(shown.matches(expected).count(), 1, "{shown}");
    }
    // A single size has it above its table, and once.
    report.comparison.results.retain(|it| it.size_bytes == size);
    report.comparison.recommended.truncate(1);
    assert_eq!(plain(&report, 1000).matches(expected).count(), 1);
}

#[test]
fn values_given_beside_a_capture_are_not_called_inferred_and_an_unseen_loss_is_bounded() {
    let mut report = fixture::from_capture();
    report.comparison.path.estimates.retain(|estimate| estimate.field != "rate_bit_s");
    let text = plain(&report, 1000);
    assert!(
        text.contains(
            "Path inferred from office-uplink.pcapng: 40 Mbit/s (given), round-trip time 80 ms, buffer unknown, \
             no random loss seen (at most 0.04 %)."
        ),
        "{text}"
    );
    assert!(html(&report).contains("Given, not inferred"));
    assert!(plain(&fixture::from_path(), 1000).contains(", no random loss."));
}

#[test]
fn a_risk_is_stated_with_its_frequency() {
    let mut report = two(0.308, [-0.23, -0.25, -0.21], 12.3, false);
    report.comparison.results[0].risks =
        vec![Risk { what: "one random loss".into(), probability: 0.071, completion_s: 4.3 }];
    let text = plain(&report, 1000);
    assert!(text.contains("1 in 14 transfers may meet one random loss: 4.30 s."), "{text}");
}

#[test]
fn schemes_that_never_finished_are_reported() {
    let mut report = two(0.3, [-0.2, -0.3, -0.1], 0.0, false);
    for result in &mut report.comparison.results {
        result.completion_s = None;
    }
    let text = plain(&report, 100);
    assert!(text.contains("No scheme finished any transfer within the time limit."), "{text}");
    assert_eq!(text.matches("none finished").count(), 2, "{text}");
    assert!(html(&report).contains("none finished within the time limit"));
}

#[test]
fn tables_fit_the_terminal_and_rank_every_scheme_at_every_size() {
    let report = fixture::from_capture();
    for width in [60, 70, 80, 90, 100, 120, 140] {
        let text = plain(&report, width);
        let widest = text.lines().map(|l| l.chars().count()).max().expect("lines");
        assert!(widest <= width, "{widest} columns where {width} were given:\n{text}");
        for size in ["30 KB", "1 MB", "5 MB"] {
            let from = text.find(&format!("\n{size}, completion time")).expect("a table for each size");
            let below: Vec<_> = text[from..].lines().skip(2).collect();
            let headings = below.iter().position(|line| line.trim_start_matches([' ', '>']).starts_with('1'));
            let headings = headings.expect("a row");
            assert!(headings <= if width < 80 { 2 } else { 1 }, "lines of headings:\n{text}");
            for (i, row) in below[headings..].iter().take(6).enumerate() {
                let row = row.trim_start_matches(['>', ' ']);
                assert!(row.starts_with(&(i + 1).to_string()), "{row} at {}:\n{text}", i + 1);
            }
        }
    }
    let narrow = plain(&report, 60);
    let heading = |line: &&str| line.trim_start().starts_with('#');
    let columns = narrow.lines().find(heading).expect("a heading");
    assert_eq!(columns.split_whitespace().next(), Some("#"), "{narrow}");
    assert!(
        narrow.contains("  vs") && columns.contains("slow-start"),
        "the heading takes two lines:\n{narrow}"
    );
    assert!(plain(&report, 140).contains("paced-out"), "a wide terminal shows the exit reasons too");
}

#[test]
fn notes_under_the_table_report_unfinished_replications_and_widened_intervals() {
    let mut report = two(0.308, [-0.23, -0.25, -0.21], 12.3, false);
    report.comparison.results[0].unfinished = 4;
    report.comparison.results[1].widened_by = vec!["buffer_packets".into()];
    let text = plain(&report, 100);
    assert!(
        text.contains("jump-start: 4 of 30 replications did not finish within the time limit."),
        "{text}"
    );
    let widened = "The ranges of a further transfer include the uncertainty of the bottleneck buffer.";
    assert!(text.contains(widened), "{text}");
    let page = html(&report);
    assert!(page.contains("4 of 30 did not finish"));
    assert!(page.contains(widened));
}

#[test]
fn the_page_lists_what_limited_each_connection() {
    // The fixture's connections: 0.5 s of 0.6 by the congestion window, 0.1 s by the receive window, none by the application.
    let page = html(&fixture::from_capture()).replace('\u{a0}', " ");
    assert_eq!(page.matches("83 % congestion window<span class=\"ci\">500 ms</span>").count(), 3);
    assert_eq!(page.matches("17 % receive window<span class=\"ci\">100 ms</span>").count(), 3);
    assert!(!page.contains("% application"));
}

#[test]
fn of_many_schemes_the_plots_show_the_baseline_and_the_best_and_one_of_those_that_do_the_same() {
    let mut report = fixture::from_capture();
    let comparison = &mut report.comparison;
    let labels: Vec<String> = comparison.schemes.clone();
    for label in labels.iter().filter(|label| *label != "slow-start+cubic") {
        let copy = |text: &str| text.replace("+cubic", "-again+cubic");
        let copies: Vec<_> = comparison.results.iter().filter(|r| r.scheme == *label).cloned().collect();
        for mut result in copies {
            (result.scheme, result.rank) = (copy(&result.scheme), result.rank + 6);
            comparison.results.push(result);
        }
        comparison.schemes.push(copy(label));
    }
    comparison.same = vec![vec!["jump-start+cubic".into(), "hybrid-slow-start+cubic".into()]];
    let page = html(&report);
    let (_, legend) = page.split_once("data-legend=\"traces\"").expect("a legend");
    let (legend, _) = legend.split_once("</table>").expect("its end");
    let rows: Vec<(bool, &str)> = legend
        .split("<label>")
        .skip(1)
        .map(|row| {
            let name =
                row.split("</svg><span>").nth(1).and_then(|rest| rest.split('<').next()).expect("a name");
            (row.contains(" checked "), name)
        })
        .collect();
    // The two that do the same share a row.
    assert_eq!(rows.len(), 10);
    let shown: Vec<&str> = rows.iter().filter(|(shown, _)| *shown).map(|(_, name)| *name).collect();
    assert_eq!(shown.len(), 7, "{rows:?}");
    assert_eq!(shown[0], "slow-start", "the baseline comes first");
    assert!(rows[..7].iter().all(|(shown, _)| *shown), "those shown come first: {rows:?}");
    // The six of the fixture without one of the pair are five, and the copies rank behind them.
    let pair = shown.iter().filter(|name| **name == "jump-start = hybrid-slow-start").count();
    let copies = shown.iter().filter(|name| name.ends_with("-again")).count();
    assert_eq!((pair, copies), (1, 2), "{rows:?}");
    assert!(page.contains("At first at most 7 of the 10 schemes are shown"));
}

#[test]
fn output_without_colour_has_no_escape_codes() {
    let report = fixture::from_capture();
    assert!(!plain(&report, 100).contains('\u{1b}'));
    assert!(table(&report, 100, Colour::Ansi).contains("\u{1b}[32m>1 "));
}

#[test]
fn external_text_cannot_control_the_terminal() {
    let mut report = fixture::from_capture();
    report.comparison.title = "x\u{1b}]0;gone\u{7}\u{1b}[2J".into();
    report.comparison.warnings = vec!["\u{1b}[31m".into()];
    let text = plain(&report, 100);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
    assert!(text.contains("x\\u{1b}]0;gone\\u{7}"), "{text}");
    for external in hostile::TEXTS {
        let text = plain(&hostile::hostile(external), 100);
        let control = |c: char| {
            (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c) || c == '\u{2066}'
        };
        assert!(!text.contains(control), "{external:?}: {text:?}");
    }
}

#[test]
fn external_text_never_becomes_markup() {
    for text in hostile::TEXTS {
        let page = html(&hostile::hostile(text));
        for element in ["<img", "<iframe", "<svg onload", "<!--"] {
            assert!(!page.contains(element), "{text:?}: {element}");
        }
        assert_eq!(
            page.matches("</script>").count(),
            3,
            "{text:?}: the data, uPlot and the page's own script end once each"
        );
        assert!(!page.contains(['\u{202e}', '\u{1b}', '\u{9b}']), "{text:?}");
        let escaped = printable(text)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;");
        assert!(page.matches(&escaped).count() > 10, "{text:?}: the texts are shown as they are");
    }
}

#[test]
fn the_page_refers_to_no_external_resource() {
    let page = html(&fixture::from_capture());
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert!(!page.contains("'unsafe-"));
    for attribute in [" src=", "url(", "@import", "<link", "<iframe", "<form", " style="] {
        assert!(!page.contains(attribute), "the page has `{attribute}`");
    }
}

#[test]
fn the_parquet_file_has_a_row_for_every_replication() {
    let report = fixture::from_capture();
    let reader = read_back("rows-1", &report);
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|r| r.expect("a row")).collect();
    assert_eq!(rows.len(), 6 * 3 * 30);
    let expected = report.samples.iter().flat_map(|set| set.samples.iter().map(move |s| (set, s)));
    for (i, (row, (set, sample))) in rows.iter().zip(expected).enumerate() {
        let column = |name: &str| row.get_column_iter().position(|(n, _)| n == name).expect("a column");
        let field = |name: &str| row.get_column_iter().nth(column(name)).expect("a column").1.clone();
        let number = |value: Option<f64>| value.map_or(Field::Null, Field::Double);
        assert_eq!(row.get_string(column("scheme")).expect("text"), &set.scheme);
        assert_eq!(row.get_ulong(column("size_bytes")).expect("a number"), set.size_bytes);
        assert_eq!(row.get_ulong(column("replication")).expect("a number"), (i % 30) as u64);
        assert_eq!(row.get_ulong(column("seed")).expect("a number"), sample.seed);
        assert_eq!(row.get_ulong(column("drops")).expect("a number"), sample.drops);
        assert_eq!(field("completion_s"), number(sample.completion_s));
        assert_eq!(field("exit_cwnd_packets"), number(sample.startup_exit.map(|e| e.cwnd_packets)));
        let reason = sample.startup_exit.map_or(Field::Null, |e| Field::Str(e.reason.label().into()));
        assert_eq!(field("exit_reason"), reason);
        assert_eq!(field("path_rate_bit_s"), Field::ULong(40_000_000));
        assert_eq!(field("path_buffer_packets"), Field::Null, "the capture does not determine the buffer");
    }
}

#[test]
fn the_parquet_file_carries_its_provenance() {
    let report = fixture::from_capture();
    let reader = read_back("rows-2", &report);
    let file = reader.metadata().file_metadata();
    let entries = file.key_value_metadata().expect("metadata");
    let value = |key: &str| entries.iter().find(|e| e.key == key).and_then(|e| e.value.clone());
    assert_eq!(file.created_by(), Some("firstflight 0.1.0"));
    assert_eq!(value("firstflight.seed").as_deref(), Some("1"));
    assert_eq!(value("firstflight.scenario"), Some(report.comparison.provenance.scenario.clone()));
    assert_eq!(value("firstflight.revision").as_deref(), Some("v0.1.0-12-g1a2b3c4"));
}

#[test]
fn the_parquet_file_keeps_every_text_as_it_is() {
    for (i, text) in hostile::TEXTS.into_iter().enumerate() {
        let reader = read_back(&format!("hostile-{i}"), &hostile::hostile(text));
        let entries = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
        let title = entries.iter().find(|entry| entry.key == "firstflight.title").expect("a title");
        assert_eq!(title.value.as_deref(), Some(text));
        let mut rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
        let scheme = rows.find_map(|row| {
            let mut columns = row.get_column_iter();
            columns.find_map(|(_, field)| match field {
                Field::Str(label) if label.contains(text) => Some(label.clone()),
                _ => None,
            })
        });
        assert_eq!(scheme.as_deref(), Some(&*format!("{text}+cubic")));
    }
}

#[test]
fn a_report_without_replications_gives_a_valid_parquet_file() {
    let mut report = fixture::from_path();
    report.samples.clear();
    let reader = read_back("rows-3", &report);
    assert_eq!(reader.get_row_iter(None).expect("rows").count(), 0);
}

#[test]
fn both_files_are_written_and_nothing_else() {
    let dir = folder("written").join("deep").join("er");
    let written = write_all(&dir, &fixture::from_path()).expect("the test folder is writable");
    assert_eq!(written, [dir.join(REPORT_FILE), dir.join(PARQUET_FILE)]);
    assert_eq!(entries(&dir), [REPORT_FILE, PARQUET_FILE]);
    assert_eq!(fs::read_to_string(&written[0]).expect("readable"), html(&fixture::from_path()));
    write_all(&dir, &fixture::from_capture()).expect("a second run replaces the first");
    assert_eq!(entries(&dir), [REPORT_FILE, PARQUET_FILE]);
    assert_eq!(fs::read(&written[1]).expect("readable"), parquet_bytes(&fixture::from_capture()));
}

#[test]
fn a_failed_write_leaves_neither_files_nor_the_created_folders() {
    let dir = folder("failed");
    let mut open = Folder::open(&dir.join("inner")).expect("the test folder is writable");
    open.stage("whole", |file| file.write_all(b"whole")).expect("written");
    let error = open
        .stage("broken", |file| {
            file.write_all(&[0; 100_000])?;
            Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"))
        })
        .expect_err("the writer failed");
    assert_eq!(error.path, dir.join("inner").join("broken"));
    drop(open);
    assert!(!dir.exists(), "created folders are removed");
}

#[test]
fn a_failure_keeps_the_results_of_an_earlier_run() {
    let dir = folder("survive");
    let written = write_all(&dir, &fixture::from_path()).expect("the test folder is writable");
    let before = fs::read(&written[0]).expect("readable");
    let mut open = Folder::open(&dir).expect("it exists");
    open.stage(REPORT_FILE, |file| file.write_all(b"half")).expect("staged");
    drop(open);
    assert_eq!(fs::read(&written[0]).expect("readable"), before);
    assert_eq!(entries(&dir), [REPORT_FILE, PARQUET_FILE]);
}

#[test]
fn a_file_that_cannot_be_renamed_is_reported_with_the_files_that_are_there() {
    let dir = folder("renamed");
    let mut open = Folder::open(&dir).expect("the test folder is writable");
    for name in ["a", "b", "c"] {
        open.stage(name, |file| file.write_all(name.as_bytes())).expect("staged");
    }
    // Another program removes a temporary file.
    let temporary = entries(&dir).into_iter().find(|name| name.starts_with(".b.")).expect("staged");
    fs::remove_file(dir.join(temporary)).expect("removed");
    let error = open.commit().expect_err("b is gone");
    assert_eq!((&error.path, &error.placed[..]), (&dir.join("b"), &[dir.join("a")][..]));
    assert!(
        error.to_string().ends_with(&format!("; only `{}` is of this run", dir.join("a").display())),
        "{error}"
    );
    assert_eq!(entries(&dir), ["a"]);
}

#[test]
fn a_folder_in_the_way_of_one_file_keeps_all_others_out() {
    let dir = folder("way");
    let mut open = Folder::open(&dir).expect("the test folder is writable");
    for name in ["a", "images/b", "c"] {
        open.stage(name, |file| file.write_all(name.as_bytes())).expect("staged");
    }
    fs::create_dir(dir.join("c")).expect("written");
    let error = open.commit().expect_err("a folder is in the way");
    assert_eq!((error.path, error.placed.len()), (dir.join("c"), 0));
    assert_eq!(entries(&dir), ["c"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_on_opening() {
    let dir = folder("refused");
    fs::create_dir_all(&dir).expect("the test folder is writable");
    let file = dir.join("file");
    fs::write(&file, "a file where a folder was expected").expect("written");
    for below in [file.clone(), file.join("out")] {
        let error = Folder::open(&below).expect_err("a file is in the way");
        assert_eq!(error.path, below);
        let message = error.to_string();
        assert!(message.contains(&below.display().to_string()) && message.contains("--out"), "{message}");
    }
    // The kernel's file system accepts no new files, not even from root.
    if Path::new("/proc/self").exists() {
        assert!(Folder::open(Path::new("/proc/firstflight")).is_err());
    }
    fs::create_dir_all(dir.join("taken").join(REPORT_FILE)).expect("written");
    let error = write_all(&dir.join("taken"), &fixture::from_path()).expect_err("a folder is in the way");
    assert_eq!(error.path, dir.join("taken").join(REPORT_FILE));
    assert_eq!(entries(&dir.join("taken")), [REPORT_FILE], "only what was there before");
}

#[test]
fn the_answer_for_a_server_names_its_networks_and_those_that_lose() {
    let text = plain(&fixture::from_server(), 1000);
    for part in [
        "Mix of 11 networks from office-uplink.pcapng: rates from 3.333 Mbit/s to 40 Mbit/s, round-trip times from 18.25 ms to \
         219 ms",
        "30 KB: 48 % sooner at the 95th percentile; 2 of 11 networks lose by it, most of all 203.0.11.0/24, by 12 %.",
        "How far to trust it: re-runs of the captured connections are off by 2.0 % in the median of the networks. 203.0.2.0/24 \
         has no answer and is no part of the mix, which has 89 % of the data of all.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Nothing is said of the path of one network, and a single path has no networks.
    assert!(!text.contains("The capture does not show") && !text.contains("Captured:"), "{text}");
    assert!(!plain(&fixture::from_capture(), 1000).contains("network"));
}

#[test]
fn the_table_by_network_leaves_out_columns_until_it_fits() {
    let lines = |width: usize| -> Vec<String> {
        let text = plain(&fixture::from_server(), width);
        let begin = text.lines().position(|line| line == "By network").expect("the table");
        text.lines().skip(begin + 1).take(13).map(str::to_owned).collect()
    };
    for (width, heading) in [
        (120, &["network", "conns", "data", "rate", "RTT", "30 KB", "1 MB", "5 MB"][..]),
        (80, &["network", "data", "rate", "30 KB", "1 MB", "5 MB"]),
        (60, &["network", "data", "30 KB", "1 MB", "5 MB"]),
    ] {
        let lines = lines(width);
        let words: Vec<&str> = lines[0].split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        assert_eq!(words, heading, "{width}");
        let wide: Vec<&String> = lines.iter().filter(|line| line.chars().count() > width).collect();
        assert!(wide.is_empty(), "{width}: {wide:#?}");
        assert!(lines[3].contains("no answer"), "{lines:#?}");
        let loser: Vec<&str> = lines[12].split_whitespace().collect();
        // Nothing is recommended for the largest size.
        assert_eq!(loser[loser.len() - 5..], ["+12", "%!", "+12", "%!", "-"], "{lines:#?}");
        let first: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(first[first.len() - 5..], ["−48", "%", "−35", "%", "-"], "{lines:#?}");
    }
}

#[test]
fn the_page_has_a_row_for_each_network_and_its_caveats() {
    let page = html(&fixture::from_server()).replace('\u{a0}', " ");
    let section = page.split("id=\"networks\"").nth(1).expect("the section");
    let section = section.split("</section>").next().expect("its end");
    assert_eq!(section.matches("<tr>").count(), 13, "{section}");
    for part in [
        "203.0.11.0/24",
        "2001:db8:1234::/48 path 2",
        ">12480<",
        ">3.2 GB<",
        "12 % later (5.0 % to 19 %): loses",
        "No answer, and no part of the mix: the capture shows too little of its path",
        "9.1 %",
    ] {
        assert!(section.contains(part), "{part}\n{section}");
    }
    assert!(page.contains("<b>203.0.7.0/24: </b>warning &lt;b&gt;7&lt;/b&gt;"), "{page}");
    assert!(!html(&fixture::from_capture()).contains("By network"));
}

#[test]
fn a_recommended_scheme_that_is_shown_under_another_name_has_a_name_in_its_networks() {
    let mut report = fixture::from_server();
    // The baseline stands for both.
    report.comparison.same = vec![vec!["slow-start+cubic".into(), "jump-start+cubic".into()]];
    let text = plain(&report, 100);
    assert!(text.contains("Use slow-start"), "{text}");
    assert!(html(&report).contains("jump-start, "), "the networks keep the name of their own recommendation");
}

#[test]
fn the_networks_of_a_server_are_a_file_of_their_own() {
    let dir = folder("server");
    let written = write_all(&dir, &fixture::from_server()).expect("written");
    assert_eq!(written.len(), 3);
    assert_eq!(entries(&dir), [NETWORKS_FILE, REPORT_FILE, PARQUET_FILE]);
    let reader = SerializedFileReader::new(File::open(dir.join(NETWORKS_FILE)).expect("written"));
    let reader = reader.expect("a Parquet file");
    // Twelve networks, three sizes, six schemes.
    assert_eq!(reader.metadata().file_metadata().num_rows(), 12 * 3 * 6);
    let names: Vec<String> =
        reader.metadata().file_metadata().schema().get_fields().iter().map(|it| it.name().into()).collect();
    for name in ["network", "bytes", "share", "scheme", "recommended_for_mix", "path_rate_bit_s", "harm_bulk"]
    {
        assert!(names.iter().any(|own| own == name), "{name}: {names:?}");
    }
    let row = reader.get_row_iter(None).expect("rows").next().expect("a row").expect("readable");
    assert_eq!(row.get_string(0).expect("a name"), "203.0.0.0/24");
}
