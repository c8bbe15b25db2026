//! Schemes that the sender of a capture may have run. Packets do not name them.

use firstflight_scenario::SchemeSpec;

/// Schemes with their probabilities before the capture is seen, the most common first. Linux's default, and the two other
/// controls that its distributions ship, are far more common than the rest (A. Mishra et al., "The Great Internet TCP
/// Congestion Control Census", SIGMETRICS 2019); the shares are round numbers.
const SENDERS: [(&str, f64); 6] = [
    ("hystart-linux+cubic", 0.35),
    ("bbr", 0.3),
    ("slow-start+reno", 0.2),
    ("slow-start+cubic", 0.05),
    ("hystart+++cubic", 0.05),
    ("hystart+++reno", 0.05),
];

/// The schemes with their probabilities.
pub(super) fn senders() -> Vec<(SchemeSpec, f64)> {
    let parsed = SENDERS.iter().map(|(label, share)| (SchemeSpec::parse(label), *share));
    parsed.map(|(scheme, share)| (scheme.expect("a scheme of the registry"), share)).collect()
}
