//! The text format 0.0.4 of Prometheus, made of OpenMetrics text.
//!
//! The two differ in four points. A counter's family has the name of its sample, with `_total`. The type `info` is a gauge, whose family has the
//! name of its sample, with `_info`. There is no line for a unit, and none for the end.

/// OpenMetrics text in the other format.
pub(super) fn of(open: &str) -> String {
    let mut plain = String::with_capacity(open.len());
    // HELP comes before TYPE, and needs its name, too.
    let mut help: Option<&str> = None;
    for line in open.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = Some(rest);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let (end, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                _ => ("", kind),
            };
            if let Some((_, text)) = help.take().and_then(|rest| rest.split_once(' ')) {
                plain += &format!("# HELP {name}{end} {text}\n");
            }
            plain += &format!("# TYPE {name}{end} {kind}\n");
        } else if !line.starts_with('#') {
            plain += line;
            plain.push('\n');
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_the_names_of_their_samples() {
        let open = "# HELP a_busy_seconds Busy.\n# TYPE a_busy_seconds histogram\n# UNIT a_busy_seconds seconds\n\
            a_busy_seconds_sum 1.0\n# HELP a_done Done, by x.\n# TYPE a_done counter\na_done_total{x=\"# y\"} 3\n\
            # HELP a_build Version.\n# TYPE a_build info\na_build_info{v=\"1\"} 1\n# EOF\n";
        let plain = "# HELP a_busy_seconds Busy.\n# TYPE a_busy_seconds histogram\na_busy_seconds_sum 1.0\n\
            # HELP a_done_total Done, by x.\n# TYPE a_done_total counter\na_done_total{x=\"# y\"} 3\n\
            # HELP a_build_info Version.\n# TYPE a_build_info gauge\na_build_info{v=\"1\"} 1\n";
        assert_eq!(of(open), plain);
    }
}
