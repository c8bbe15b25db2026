//! Registers of the sender that its log reports (`metrics_updated`).

use serde::Serialize;
/// Registers of a sender, as its own log reports them. Bytes are those of the stack's congestion control: packets without IP and UDP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registers {
    /// First congestion window, bytes.
    pub first_window_bytes: Option<u64>,
    /// Largest congestion window, bytes.
    pub largest_window_bytes: Option<u64>,
    /// Last congestion window, bytes.
    pub last_window_bytes: Option<u64>,
    /// First slow-start threshold that was set, bytes; `None` if none was.
    pub first_threshold_bytes: Option<u64>,
}

impl Registers {
    /// Takes the congestion window and the slow-start threshold of an update, as far as it has them, bytes.
    pub(crate) fn take(&mut self, window: Option<u64>, threshold: Option<u64>) {
        /// The largest numbers stand for no threshold.
        const NONE: u64 = 1 << 48;
        if let Some(window) = window {
            self.first_window_bytes.get_or_insert(window);
            self.largest_window_bytes = self.largest_window_bytes.max(Some(window));
            self.last_window_bytes = Some(window);
        }
        if let Some(threshold) = threshold.filter(|threshold| *threshold < NONE) {
            self.first_threshold_bytes.get_or_insert(threshold);
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.first_window_bytes.is_some()
    }
}
