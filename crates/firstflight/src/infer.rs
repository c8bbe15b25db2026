//! Inference of a path from a capture.

use firstflight_capture::{PathEstimate, read_from};
use firstflight_document::Error;

/// The path that the TCP connections of a capture crossed: rate, round trip, buffer, loss and the behaviour of the two
/// ends, each with its uncertainty, or with the reason why the capture does not determine it.
///
/// `bytes` are a pcap or pcapng file; `name` is its name in errors.
///
/// # Errors
/// [`Error`] if the bytes are not a capture with TCP connections that carried data.
///
/// # Examples
///
/// ```
/// let bytes = include_bytes!("../../capture/testdata/p1-reno-1000KB.pcap");
/// let path = firstflight::infer(bytes, "p1-reno-1000KB.pcap")?;
/// // The true path: 20 Mbit/s and 60 ms (crates/capture/testdata/truth.csv).
/// let rate = path.rate.known().expect("a transfer that fills the path shows its rate");
/// let rtt = path.rtt.known().expect("handshakes show the round trip");
/// assert!(rate.low <= TRUE_RATE && TRUE_RATE <= rate.high);
/// assert!(rtt.low <= TRUE_RTT && TRUE_RTT <= rtt.high);
/// # const TRUE_RATE: f64 = 20e6;
/// # const TRUE_RTT: f64 = 0.06;
/// # Ok::<(), firstflight::Error>(())
/// ```
pub fn infer(bytes: &[u8], name: &str) -> Result<PathEstimate, Error> {
    let capture = read_from(bytes, name).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(firstflight_capture::infer(&capture.connections))
}
