//! Tables of the calibration.

use std::fmt::Write as _;

use research_forecasts::table::{Table, number, percent};

use crate::item::{CAPTURED, Further, Item, VALUES};

/// Bounds of the bins of weights.
const BINS: [f64; 7] = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0 + 1e-9];

/// Bins of a rank histogram.
const RANKS: usize = 10;

/// All tables.
pub(crate) fn tables(items: &[Item]) -> String {
    let mut text = String::new();
    let answered: Vec<&Item> = items.iter().filter(|item| item.no_answer.is_none()).collect();
    let seconds: f64 = answered.iter().map(|item| item.seconds).sum();
    let _ = writeln!(
        text,
        "{} draws, {} of them without an answer; {:.1} processor seconds for each answer.\n",
        items.len(),
        items.len() - answered.len(),
        seconds / answered.len().max(1) as f64
    );
    text.push_str("#### Weights of kinds\n\n");
    text.push_str(&reliability(&answered));
    text.push_str("#### The heaviest kind\n\n");
    text.push_str(&heaviest(&answered));
    text.push_str("#### Ranges of 90 % by kind of path\n\n");
    let kinds = labels(&answered, |item| &item.kind);
    let of_kind = kinds.iter().map(|kind| (kind.to_string(), filtered(&answered, |item| item.kind == *kind)));
    text.push_str(&coverage("kind", of_kind));
    text.push_str("#### Ranges of 90 % by the heaviest kind of the answer\n\n");
    let answers = labels(&answered, |item| item.heaviest().0);
    let of_answer =
        answers.iter().map(|kind| (kind.to_string(), filtered(&answered, |item| item.heaviest().0 == *kind)));
    text.push_str(&coverage("answer", of_answer));
    text.push_str("#### Ranges of 90 % by capture\n\n");
    let sizes = CAPTURED
        .iter()
        .map(|&size| (format!("{} KB", size / 1000), filtered(&answered, |item| item.bytes == size)));
    let controls = labels(&answered, |item| &item.control);
    let of_control =
        controls.iter().map(|label| (label.to_string(), filtered(&answered, |item| item.control == *label)));
    let losses = [
        ("no loss".to_owned(), filtered(&answered, |item| item.retransmits == 0)),
        ("losses".to_owned(), filtered(&answered, |item| item.retransmits > 0)),
        ("random loss on the path".to_owned(), filtered(&answered, |item| item.loss > 0.0)),
        ("all".to_owned(), answered.clone()),
    ];
    text.push_str(&coverage("capture", sizes.chain(of_control).chain(losses)));
    text.push_str("#### Ranks\n\n");
    text.push_str(&ranks(&answered));
    text
}

/// The labels of draws, in alphabetical order.
fn labels<'a>(items: &[&'a Item], of: impl Fn(&'a Item) -> &'a str) -> Vec<&'a str> {
    let mut labels: Vec<&str> = items.iter().map(|item| of(item)).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn filtered<'a>(items: &[&'a Item], of: impl Fn(&Item) -> bool) -> Vec<&'a Item> {
    items.iter().copied().filter(|item| of(item)).collect()
}

/// A weighted mean over draws, with half of its 95 % interval: the standard error of a ratio estimator (W. Cochran, "Sampling
/// Techniques", third edition, 1977, section 6.4). `of` is the sum and the number over one draw.
fn mean(items: &[&Item], of: impl Fn(&Item) -> (f64, f64)) -> Option<(f64, f64)> {
    let each: Vec<(f64, f64)> = items
        .iter()
        .map(|item| (of(item), item.weight))
        .map(|((sum, count), weight)| (weight * sum, weight * count))
        .collect();
    let count: f64 = each.iter().map(|one| one.1).sum();
    if count <= 0.0 {
        return None;
    }
    let ratio = each.iter().map(|one| one.0).sum::<f64>() / count;
    let squares: f64 = each.iter().map(|(sum, own)| (sum - ratio * own) * (sum - ratio * own)).sum();
    Some((ratio, 1.96 * squares.sqrt() / count))
}

fn plus_minus(mean: Option<(f64, f64)>, digits: usize) -> String {
    mean.map_or("–".into(), |(value, half)| {
        format!("{:.digits$} ± {:.digits$}", 100.0 * value, 100.0 * half)
    })
}

/// How often a kind of a weight is the true one.
fn reliability(items: &[&Item]) -> String {
    let mut table = Table::new(["weight", "weights", "mean weight, %", "right, %"]);
    for bin in BINS.windows(2) {
        let within = |weight: &f64| (bin[0]..bin[1]).contains(weight);
        let of = |item: &Item, one: fn(&Item, &str, f64) -> f64| {
            let own = item.kinds.iter().filter(|(_, weight)| within(weight));
            own.fold((0.0, 0.0), |(sum, count), (kind, weight)| (sum + one(item, kind, *weight), count + 1.0))
        };
        let right = mean(items, |item| of(item, |item, kind, _| f64::from(u8::from(item.kind == kind))));
        let weight = mean(items, |item| of(item, |_, _, weight| weight));
        let count: usize = items.iter().map(|item| item.kinds.values().filter(|it| within(it)).count()).sum();
        table.row([
            format!("{:.1} to {:.1}", bin[0], bin[1].min(1.0)),
            count.to_string(),
            percent(weight.map(|one| one.0), 1),
            plus_minus(right, 1),
        ]);
    }
    table.text()
}

/// The weight of the heaviest kind beside the share in which it is right, and that of the true kind, by kind, size and control.
fn heaviest(items: &[&Item]) -> String {
    let mut table =
        Table::new(["draws", "number", "heaviest weight, %", "right, %", "weight of the true kind, %"]);
    let mut add = |name: String, own: Vec<&Item>| {
        let weight = mean(&own, |item| (item.heaviest().1, 1.0));
        let right = mean(&own, |item| (f64::from(u8::from(item.heaviest().0 == item.kind)), 1.0));
        let true_kind = mean(&own, |item| (item.kinds.get(&item.kind).copied().unwrap_or(0.0), 1.0));
        table.row([
            name,
            own.len().to_string(),
            percent(weight.map(|one| one.0), 1),
            plus_minus(right, 1),
            percent(true_kind.map(|one| one.0), 1),
        ]);
    };
    for kind in labels(items, |item| &item.kind) {
        add(kind.into(), filtered(items, |item| item.kind == kind));
    }
    for kind in labels(items, |item| item.heaviest().0) {
        add(format!("answer: {kind}"), filtered(items, |item| item.heaviest().0 == kind));
    }
    for size in CAPTURED {
        add(format!("{} KB", size / 1000), filtered(items, |item| item.bytes == size));
    }
    for control in labels(items, |item| &item.control) {
        add(control.into(), filtered(items, |item| item.control == control));
    }
    add("all".into(), items.to_vec());
    table.text()
}

/// Share of the further transfers in their ranges, by groups of draws.
fn coverage<'a>(name: &str, groups: impl Iterator<Item = (String, Vec<&'a Item>)>) -> String {
    let mut table = Table::new([
        name,
        "draws",
        "in the range, %",
        "faster, %",
        "slower, %",
        "range over median: median, %",
        "error of the median: median, %",
    ]);
    for (label, items) in groups {
        let share = |of: &dyn Fn(&Further) -> bool| {
            mean(&items, |item| {
                let count = item.transfers.iter().filter(|it| of(it)).count();
                (count as f64, item.transfers.len() as f64)
            })
        };
        let took = |it: &Further| it.took.unwrap_or(f64::INFINITY);
        let inside = share(&|it| (it.low..=it.high).contains(&took(it)));
        let (faster, slower) = (share(&|it| took(it) < it.low), share(&|it| took(it) > it.high));
        let middle = |of: &dyn Fn(&Further) -> f64| {
            let each = items.iter().flat_map(|item| item.transfers.iter().map(|it| (of(it), item.weight)));
            let mut each: Vec<(f64, f64)> = each.filter(|one| one.0.is_finite()).collect();
            each.sort_by(|a, b| a.0.total_cmp(&b.0));
            firstflight_quantile::type_1(each.iter().copied(), 0.5)
        };
        table.row([
            label,
            items.len().to_string(),
            plus_minus(inside, 1),
            percent(faster.map(|one| one.0), 1),
            percent(slower.map(|one| one.0), 1),
            percent(middle(&|it| (it.high - it.low) / it.median), 1),
            percent(middle(&|it| (took(it) / it.median - 1.0).abs()), 1),
        ]);
    }
    table.text()
}

/// Histograms of ranks, in per cent of the draws.
fn ranks(items: &[&Item]) -> String {
    let headings = (0..RANKS).map(|bin| format!("{}0 %", bin + 1));
    let mut table = Table::new(["value".to_owned(), "ranks".into()].into_iter().chain(headings));
    let mut add = |name: &str, ranks: Vec<(f64, f64)>| {
        let all: f64 = ranks.iter().map(|one| one.1).sum();
        let bins = (0..RANKS).map(|bin| {
            let within = |rank: f64| ((rank * RANKS as f64) as usize).min(RANKS - 1) == bin;
            // A sum of nothing is minus zero.
            let own = 0.0 + ranks.iter().filter(|one| within(one.0)).map(|one| one.1).sum::<f64>();
            number((all > 0.0).then(|| 100.0 * own / all), 1)
        });
        table.row([name.to_owned(), ranks.len().to_string()].into_iter().chain(bins));
    };
    let of_transfers = items.iter().flat_map(|item| item.transfers.iter().map(|it| (it.rank, item.weight)));
    add("further transfer", of_transfers.collect());
    for (name, _) in VALUES {
        let own = items.iter().filter_map(|item| Some((*item.ranks.get(name)?, item.weight)));
        add(name, own.collect());
    }
    table.text()
}
