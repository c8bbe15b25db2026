//! The receiving application of one flow.

use firstflight_scenario::Reads;
use firstflight_sim::sender::app::AppConfig;

use super::{PRIORITY, Start, Tap};
use crate::realtime::be_on_time;
use crate::socket;

/// Waits for the start, accepts the connection and reads all that `app` writes, or until the run is `over`.
///
/// When the application has the last byte of a write, its kernel acknowledges at once.
pub(crate) fn receive(app: &AppConfig, reads: Reads, tap: &Tap, start: &Start, over: impl Fn() -> bool) {
    let on_time = be_on_time(PRIORITY).map_err(|need| need.to_string());
    if start.wait().is_none() {
        return;
    }
    if let Err(why) = on_time.and_then(|()| run(app, reads, tap))
        && !over()
    {
        tap.fail(why);
    }
}

fn run(app: &AppConfig, reads: Reads, tap: &Tap) -> Result<(), String> {
    let (socket, _) = tap.listener.accept().map_err(|error| format!("to accept: {error}"))?;
    socket::set_reset_on_close(&socket).map_err(|need| need.to_string())?;
    let socket = tap.receiver.get_or_init(|| socket);
    let first = app.bytes.unwrap_or(u64::MAX);
    let later = (0..app.pauses.len()).map(|number| app.sizes.get(number).copied().unwrap_or(first));
    for bytes in core::iter::once(first).chain(later) {
        let mut left = bytes;
        let mut wakes_at = None;
        while left > 0 {
            if let Reads::Every(most) = reads {
                // The last bytes wake the application however few they are.
                let low = most.min(left);
                if wakes_at.replace(low) != Some(low) {
                    socket::set_receive_low_water(socket, low).map_err(|need| need.to_string())?;
                }
            }
            match socket::discard(socket, left) {
                Ok(0) => return Err("the connection ended early".into()),
                // A call discards no more than it asks for.
                Ok(read) => left = left.saturating_sub(read),
                Err(error) => return Err(format!("to receive: {error}")),
            }
        }
        socket::acknowledge_now(socket).map_err(|need| need.to_string())?;
    }
    Ok(())
}
