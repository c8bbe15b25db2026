//! The advice, carried out: what the recommended start gained on the kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firstflight_quantile::type_7;
use firstflight_random::Stream;
use firstflight_results::{Ci95, PairedDifference};

use crate::controls::Controls;
use crate::forecast::{Answer, CaptureForecast, Cell};
use crate::kinds::known;
use crate::score::{at, mean, share};
use crate::text::{ascending, names, notes, refused};
use crate::truth::Transfer;
use research_forecasts::table::{Table, percent, signed};

/// Resamples of an interval.
const RESAMPLES: usize = 2000;

/// The advice for one size from one capture, and the kernel's transfers with it.
struct Advised<'a> {
    capture: &'a CaptureForecast<'a>,
    /// Forecast and transfers of the start that an operator uses: the recommended one, or the present one.
    own: &'a Cell<'a>,
    present: &'a Transfer,
    /// The start whose median is the least on the kernel.
    fastest: &'a Transfer,
    /// Forecast gain with its interval; `None` where the advice is to keep the present start.
    forecast: Option<(f64, Ci95)>,
    /// Whether a start that gains is not recommended because its harm to others may exceed the limit.
    undecided: bool,
}

impl<'a> Advised<'a> {
    fn of(capture: &'a CaptureForecast<'a>, bytes: u64) -> Option<Self> {
        let answer = capture.answered()?;
        let one = answer.recommended.iter().find(|one| one.size_bytes == bytes)?;
        let present = cell(answer, answer.present.as_deref()?, bytes)?;
        let own = one.scheme.as_deref().map_or(Some(present), |scheme| cell(answer, scheme, bytes))?;
        let measured = answer.cells.iter().map(|cell| cell.transfer).filter(|it| it.bytes == bytes);
        let fastest = measured.min_by(|a, b| a.truth_ms().total_cmp(&b.truth_ms()))?;
        let gain = one.gain.filter(|_| one.scheme.is_some());
        let forecast = gain.map(|[low, value, high]| (value, [low, high]));
        Some(Self {
            capture,
            own,
            present: present.transfer,
            fastest,
            forecast,
            undecided: !one.undecided.is_empty(),
        })
    }

    fn bytes(&self) -> u64 {
        self.present.bytes
    }

    /// Gain of the advised start on the kernel.
    fn gain(&self) -> f64 {
        gain(self.own.transfer, self.present)
    }

    /// Its 95 % interval.
    fn gain_ci95(&self) -> Ci95 {
        gain_ci95(self.own.transfer, self.present)
    }

    /// Whether the interval of the forecast gain and that of the kernel's have a value in common.
    fn meets(&self) -> Option<bool> {
        let (_, [low, high]) = self.forecast?;
        let [from, to] = self.gain_ci95();
        Some(low <= to && from <= high)
    }

    /// Whether the advised start is shown to be later than the present one by a difference that matters.
    fn lost(&self) -> bool {
        self.forecast.is_some() && self.gain() <= -PairedDifference::WORTH_HAVING && self.gain_ci95()[1] < 0.0
    }

    /// The advice in a word.
    fn word(&self) -> String {
        match self.forecast {
            Some(_) => format!("`{}`", self.own.transfer.control),
            None if self.undecided => "keep: harm open".into(),
            None => "keep".into(),
        }
    }

    /// How much later than the fastest start the advised one ended, as a share of the fastest.
    fn regret(&self) -> f64 {
        self.own.transfer.truth_ms() / self.fastest.truth_ms() - 1.0
    }
}

/// Forecast and transfers of the candidate with this label.
fn cell<'a>(answer: &'a Answer<'a>, label: &str, bytes: u64) -> Option<&'a Cell<'a>> {
    let mut of_size = answer.cells.iter().filter(|cell| cell.transfer.bytes == bytes);
    of_size.find(|cell| cell.result.as_ref().is_some_and(|result| result.scheme == label))
}

/// Share of the present start's median by which the median of `own` ends sooner; negative if later.
fn gain(own: &Transfer, present: &Transfer) -> f64 {
    1.0 - own.truth_ms() / present.truth_ms()
}

/// Interval of that share, 95 %: the middle of what resamples give, each start's repeats drawn with replacement.
fn gain_ci95(own: &Transfer, present: &Transfer) -> Ci95 {
    let mut stream = Stream::named(1, "advice");
    let mut median = |of: &Transfer| {
        let repeats = &of.repeats_ms;
        let drawn = |_| repeats[(stream.unit() * repeats.len() as f64) as usize];
        let mut drawn: Vec<f64> = (0..repeats.len()).map(drawn).collect();
        drawn.sort_by(f64::total_cmp);
        type_7(&drawn, 0.5)
    };
    let mut gains: Vec<f64> = (0..RESAMPLES).map(|_| 1.0 - median(own) / median(present)).collect();
    gains.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|p| type_7(&gains, p))
}

/// All tables; without single starts and sizes if `brief`.
pub(crate) fn tables(captures: &[CaptureForecast<'_>], controls: &Controls, brief: bool) -> String {
    let sizes = |capture: &CaptureForecast<'_>| capture.path.sizes();
    let all =
        captures.iter().flat_map(|one| sizes(one).into_iter().filter_map(|size| Advised::of(one, size)));
    let all: Vec<Advised<'_>> = all.collect();
    let mut text = notes(controls);
    let mut add = |heading: &str, table: &Table| {
        let _ = write!(text, "### {heading}\n\n{}", table.text());
    };
    let groups = names(captures).into_iter().map(|name| {
        let own = all.iter().filter(|one| one.capture.path.name == name).collect();
        (format!("{name} {}", known(name).what), own)
    });
    add("By path", &groups_table("path", groups, &all));
    let groups = ascending(all.iter().map(Advised::bytes)).into_iter().map(|size| {
        let own = all.iter().filter(|one| one.bytes() == size).collect();
        ((size / 1000).to_string(), own)
    });
    add("By size", &groups_table("KB", groups, &all));
    if !brief {
        add("Gain of every start: forecast and kernel", &by_start(captures));
        add("Each advice", &each(&all));
    }
    text + &refused(captures)
}

fn groups_table<'a>(
    title: &str,
    groups: impl Iterator<Item = (String, Vec<&'a Advised<'a>>)>,
    all: &'a [Advised<'a>],
) -> Table {
    let mut table = Table::new([
        title,
        "answers",
        "changes",
        "harm open",
        "forecast gain: median, %",
        "on the kernel: median, %",
        "apart: median, points",
        "most",
        "intervals meet, %",
        "in the range, %",
        "slower than now",
        "behind the fastest: mean, %",
        "most",
        "present start: mean, %",
    ]);
    for (name, own) in groups.chain([("**all**".to_owned(), all.iter().collect())]) {
        let changes: Vec<&&Advised<'_>> = own.iter().filter(|one| one.forecast.is_some()).collect();
        let forecast: Vec<f64> = changes.iter().filter_map(|one| Some(one.forecast?.0)).collect();
        let gains: Vec<f64> = changes.iter().map(|one| one.gain()).collect();
        let apart: Vec<f64> = forecast.iter().zip(&gains).map(|(a, b)| (a - b).abs()).collect();
        let meets: Vec<f64> =
            changes.iter().filter_map(|one| one.meets()).map(|it| f64::from(u8::from(it))).collect();
        let covered: Vec<f64> = own.iter().filter_map(|one| one.own.covered()).collect();
        let regrets: Vec<f64> = own.iter().map(|one| one.regret()).collect();
        let present: Vec<f64> =
            own.iter().map(|one| one.present.truth_ms() / one.fastest.truth_ms() - 1.0).collect();
        table.row([
            name,
            own.len().to_string(),
            changes.len().to_string(),
            own.iter().filter(|one| one.forecast.is_none() && one.undecided).count().to_string(),
            percent(at(&forecast, 0.5), 1),
            percent(at(&gains, 0.5), 1),
            percent(at(&apart, 0.5), 1),
            percent(at(&apart, 1.0), 1),
            percent(mean(&meets), 0),
            percent(mean(&covered), 0),
            own.iter().filter(|one| one.lost()).count().to_string(),
            percent(mean(&regrets), 1),
            percent(at(&regrets, 1.0), 1),
            percent(mean(&present), 1),
        ]);
    }
    table
}

/// Gains of all candidates over the present one: those that are forecast, against those on the kernel.
fn by_start(captures: &[CaptureForecast<'_>]) -> Table {
    let mut table = Table::new([
        "start",
        "forecasts",
        "forecast gain: median, %",
        "gain on the kernel: median, %",
        "difference: median, points",
        "p90, points",
        "forecast is higher, %",
        "within the kernel's interval or 2 points, %",
    ]);
    let answers = || captures.iter().filter_map(CaptureForecast::answered);
    let mut labels: Vec<(&str, &str)> = vec![];
    for cell in answers().flat_map(|answer| &answer.cells) {
        let Some(result) = &cell.result else { continue };
        let label = (result.scheme.as_str(), cell.transfer.control.as_str());
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    for (label, control) in labels {
        let (mut forecast, mut gains, mut apart, mut within) = (vec![], vec![], vec![], vec![]);
        for answer in answers().filter(|answer| answer.present.as_deref() != Some(label)) {
            for own in answer.cells.iter().filter(|cell| cell.transfer.control == control) {
                let present = answer.present.as_deref();
                let present = present.and_then(|present| cell(answer, present, own.transfer.bytes));
                let Some((present, [forecast_ms, present_ms])) =
                    present.and_then(|it| Some((it, [own.median_ms()?, it.median_ms()?])))
                else {
                    continue;
                };
                let expected = 1.0 - forecast_ms / present_ms;
                let measured = gain(own.transfer, present.transfer);
                let [low, high] = gain_ci95(own.transfer, present.transfer);
                forecast.push(expected);
                gains.push(measured);
                apart.push(expected - measured);
                let [low, high] = [
                    low.min(measured - PairedDifference::WORTH_HAVING),
                    high.max(measured + PairedDifference::WORTH_HAVING),
                ];
                within.push(f64::from(u8::from((low..=high).contains(&expected))));
            }
        }
        if forecast.is_empty() {
            continue;
        }
        let sizes: Vec<f64> = apart.iter().map(|it| it.abs()).collect();
        table.row([
            format!("`{control}`"),
            forecast.len().to_string(),
            signed(at(&forecast, 0.5), 1),
            signed(at(&gains, 0.5), 1),
            percent(at(&sizes, 0.5), 1),
            percent(at(&sizes, 0.9), 1),
            percent(share(&apart, 0.0), 0),
            percent(mean(&within), 0),
        ]);
    }
    table
}

/// The advice for each path and size; captures with the same advice share a row.
fn each(all: &[Advised<'_>]) -> Table {
    let mut table = Table::new([
        "path, KB",
        "captures",
        "advice",
        "forecast gain, %",
        "gain on the kernel, %",
        "in the range, %",
        "fastest",
        "behind the fastest, %",
    ]);
    let mut rows: BTreeMap<_, Vec<&Advised<'_>>> = BTreeMap::new();
    for one in all {
        let key = (&one.capture.path.name, one.bytes(), one.word());
        rows.entry(key).or_default().push(one);
    }
    for ((path, bytes, word), own) in rows {
        let one = own[0];
        let interval = |[low, high]: Ci95| format!("({} to {})", signed(Some(low), 1), signed(Some(high), 1));
        let forecasts: Vec<(f64, Ci95)> = own.iter().filter_map(|one| one.forecast).collect();
        let values: Vec<f64> = forecasts.iter().map(|(value, _)| *value).collect();
        let widest = forecasts.iter().map(|(_, ci95)| *ci95).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        let lost = if one.lost() { " *" } else { "" };
        let covered: Vec<f64> = own.iter().filter_map(|one| one.own.covered()).collect();
        table.row([
            format!("{path} {}", bytes / 1000),
            own.len().to_string(),
            word,
            widest.map_or("–".into(), |it| format!("{} {}", signed(at(&values, 0.5), 1), interval(it))),
            widest.map_or("–".into(), |_| {
                format!("{} {}{lost}", signed(Some(one.gain()), 1), interval(one.gain_ci95()))
            }),
            percent(mean(&covered), 0),
            format!("`{}`", one.fastest.control),
            percent(Some(one.regret()), 1),
        ]);
    }
    table
}
