//! One scenario on several hosts: their windows over time on one picture, and a page with the picture and the totals.

use firstflight_results::{FlowResult, RunResult, SampleRow};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure::{Axis, Course, Figure, Mark, Panel, Pattern, Point, Shape, Spacing, Stroke, Tone};
use crate::format::{count, list, printable, time};
use crate::pictures::{STYLE, embedded, styles};
use crate::policy::policy;

/// Flows with a picture; further flows have a row of the table only.
const PICTURES: usize = 6;

/// Colour of each host. The lines of hosts that agree lie on each other: the first is solid and drawn first, the others are
/// dashed and drawn over it.
const TONES: [Tone; 3] = [Tone::Blue, Tone::Orange, Tone::Green];

/// A run of the scenario on one host.
#[derive(Clone, Copy, Debug)]
pub struct HostRun<'a> {
    /// Name of the host: `kernel`.
    pub host: &'a str,
    /// Totals.
    pub result: &'a RunResult,
    /// Registers of every flow, since its start.
    pub samples: &'a [SampleRow],
    /// Sentences on how the host ran the scenario, and where its samples come from.
    pub notes: &'a [String],
}

/// Picture of the flow at this place in the scenario: window, packets in flight and delivered bytes on every host.
pub fn picture(runs: &[HostRun<'_>], flow: usize) -> Figure {
    let first = runs.iter().find_map(|run| run.result.flows.get(flow));
    let panels = [
        ("window, packets", 250, Quantity::Window),
        ("in flight, packets", 150, Quantity::InFlight),
        ("delivered, MB", 110, Quantity::Delivered),
    ];
    let panels = panels.map(|(title, height, quantity)| Panel {
        height,
        y: Axis { title: title.into(), range: quantity.range(runs, flow), spacing: Spacing::Linear },
        marks: marks(runs, flow, quantity),
    });
    Figure {
        title: first.map_or(String::new(), |flow| format!("{} on {}", scheme(flow), hosts(runs))),
        subtitle: first.map_or(String::new(), |flow| flow.name.clone()),
        x: Axis { title: "time since the flow's start, s".into(), range: None, spacing: Spacing::Linear },
        panels: panels.into(),
    }
}

/// The page: pictures of the first flows, totals of all, notes on the hosts, and the scenario's text. Nothing in it runs, and it
/// loads nothing. The same runs give the same bytes.
pub fn page(runs: &[HostRun<'_>], scenario: &str, command: &str) -> String {
    let title = runs.first().map_or("", |run| run.result.title.as_str());
    let title = if title.is_empty() { "One scenario on several hosts" } else { title };
    let flows = runs.iter().map(|run| run.result.flows.len()).max().unwrap_or(0);
    let pictures: Vec<_> = (0..flows.min(PICTURES))
        .map(|flow| embedded(&picture(runs, flow).svg(), &format!("f{flow}")))
        .collect();
    let body = html! {
        main {
            h1 { (printable(title)) }
            p { "The same scenario on " (hosts(runs)) ". Lines that lie on each other are hosts that agree." }
            @for picture in &pictures { (PreEscaped(picture)) }
            @if flows > PICTURES { p { "Pictures of " (PICTURES) " of " (flows) " flows; the table has all." } }
            h2 { "Totals" }
            (totals(runs, flows))
            h2 { "Hosts" }
            @for run in runs {
                p { b { (run.host) } @for note in run.notes { " " (printable(note)) } }
            }
            h2 { "Again" }
            pre { code { (printable(command)) } }
            h2 { "The scenario" }
            pre { code { (crate::lines(scenario)) } }
        }
    };
    let body = body.into_string();
    let policy = policy(&[], &styles(&body).chain([STYLE]).collect::<Vec<_>>());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (printable(title)) " · firstflight lab run" }
                style { (PreEscaped(STYLE)) }
            }
            body { (PreEscaped(&body)) }
        }
    };
    page.into_string()
}

/// The hosts' names as words: `simulator, kernel and quic`.
fn hosts(runs: &[HostRun<'_>]) -> String {
    list(&runs.iter().map(|run| run.host.to_owned()).collect::<Vec<_>>())
}

/// The chain's label; a scheme that rules the whole connection is start-up and avoidance in one.
fn scheme(flow: &FlowResult) -> String {
    match flow.startup == flow.avoidance {
        true => flow.startup.clone(),
        false => format!("{}+{}", flow.startup, flow.avoidance),
    }
}

/// A quantity over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Window,
    InFlight,
    Delivered,
}

impl Quantity {
    fn of(self, row: &SampleRow) -> Option<f64> {
        match self {
            Self::Window => row.cwnd_packets,
            Self::InFlight => row.in_flight_packets,
            Self::Delivered => row.delivered_bytes.map(|bytes| bytes / 1e6),
        }
    }

    /// Range of the axis: thresholds far above the windows are not drawn.
    fn range(self, runs: &[HostRun<'_>], flow: usize) -> Option<[f64; 2]> {
        let values = runs.iter().flat_map(|run| rows(run, flow)).filter_map(|row| self.of(row));
        let highest = values.fold(0.0, f64::max);
        (highest > 0.0).then_some([0.0, 1.06 * highest])
    }
}

/// Samples of a flow.
fn rows<'a>(run: &HostRun<'a>, flow: usize) -> impl Iterator<Item = &'a SampleRow> {
    let name = run.result.flows.get(flow).map(|flow| flow.name.as_str());
    run.samples.iter().filter(move |row| Some(row.flow.as_str()) == name)
}

fn marks(runs: &[HostRun<'_>], flow: usize, quantity: Quantity) -> Vec<Mark> {
    let mut marks = vec![];
    for (number, run) in runs.iter().enumerate() {
        let (tone, pattern, stroke) = (TONES[number % TONES.len()], Pattern(number), Stroke::Solid);
        let points = rows(run, flow);
        let points: Vec<_> = points.map(|row| (row.time_s, quantity.of(row))).collect();
        if points.is_empty() {
            continue;
        }
        let name = (quantity == Quantity::Window).then(|| run.host.to_owned());
        marks.push(Mark {
            name,
            tone,
            pattern,
            shape: Shape::Line { points, course: Course::Steps, stroke },
        });
    }
    if quantity != Quantity::Window {
        return marks;
    }
    for (number, run) in runs.iter().enumerate() {
        let Some(exit) = run.result.flows.get(flow).and_then(|flow| flow.startup_exit) else { continue };
        let point = Point { x: exit.time_s, y: exit.cwnd_packets, label: String::new() };
        let name = Some(format!("start-up ends: {}, by {}", run.host, exit.reason.label()));
        let tone = TONES[number % TONES.len()];
        marks.push(Mark { name, tone, pattern: Pattern(number), shape: Shape::Points(vec![point]) });
    }
    marks
}

fn totals(runs: &[HostRun<'_>], flows: usize) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "Flow" } th { "Host" } th.n { "Completed" } th { "Start-up ended" } th.n { "Window then, packets" }
                    th.n { "Lost" } th.n { "Retransmitted" } th.n { "Timeouts" } th.n { "Largest window, packets" }
                }
            }
            tbody {
                @for flow in 0..flows {
                    @for run in runs {
                        @if let Some(flow) = run.result.flows.get(flow) {
                            tr {
                                td { (printable(&flow.name)) ", " (printable(&scheme(flow))) }
                                td { (run.host) }
                                td.n { (flow.completion_s.map_or_else(|| "no".to_owned(), time)) }
                                @match flow.startup_exit {
                                    Some(exit) => {
                                        td { "at " (time(exit.time_s)) " by " (exit.reason.label()) }
                                        td.n { (count(exit.cwnd_packets)) }
                                    }
                                    None => { td { "not during the run" } td.n { "–" } }
                                }
                                td.n { (flow.lost_packets) }
                                td.n { (flow.retransmits) }
                                td.n { (flow.timeouts) }
                                td.n { (count(flow.max_cwnd_packets)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_has_a_line_for_each_host_and_shows_strange_names_as_text() {
        let result: RunResult = serde_json::from_value(json!({
            "title": "<script>", "seed": 1, "simulated_s": 1.0, "links": [], "fairness_jain": 1.0,
            "engine": { "packet_hops": 0 },
            "flows": [{
                "name": "<b>a", "startup": "bbr", "avoidance": "bbr", "start_s": 0.0, "delivered_bytes": 0,
                "delivered_packets": 0, "goodput_bit_s": 0.0, "retransmits": 0, "timeouts": 0, "lost_packets": 0,
                "first_flight_packets": 0, "max_cwnd_packets": 20.0, "final_cwnd_packets": 20.0, "delivered_at": [],
            }],
        }))
        .expect("a result");
        let row = |time_s: f64, cwnd: f64| SampleRow {
            run: 0,
            flow: "<b>a".into(),
            time_s,
            cwnd_packets: Some(cwnd),
            ssthresh_packets: None,
            in_flight_packets: None,
            queue_packets: None,
            delivered_bytes: None,
        };
        let samples = [row(0.0, 10.0), row(1.0, 50.0)];
        let run = |host| HostRun { host, result: &result, samples: &samples, notes: &[] };
        let runs = [run("kernel"), run("quic")];
        let drawn = picture(&runs, 0);
        assert_eq!(drawn.title, "bbr on kernel and quic");
        // Nothing is known of the flight and of deliveries but that there are rows.
        let lines =
            |panel: usize| drawn.panels[panel].marks.iter().filter(|mark| mark.name.is_some()).count();
        assert_eq!((lines(0), drawn.panels[0].y.range), (2, Some([0.0, 53.0])));
        let page = page(&runs, "[path]\nrate = \"<i>\"\n", "firstflight lab run a.toml");
        assert!(!page.contains("<script") && !page.contains("<b>a") && !page.contains("<i>"), "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("default-src 'none'"));
    }
}
