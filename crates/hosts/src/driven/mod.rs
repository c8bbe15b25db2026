//! One sender without a network, driven line by line in virtual time by a [script](firstflight_script).

mod answer;
mod session;

use firstflight_script::{Error, Event, Line};
use firstflight_sim::config::FlowConfig;

pub use answer::Output;
use session::Session;

/// A sender that answers the lines of a script; the first line opens its connection.
///
/// `flow` gives the flow for the payload bytes of a full segment.
pub struct Driven<F> {
    flow: F,
    mss: Option<u32>,
    session: Option<Session>,
}

impl<F, E> Driven<F>
where
    F: Fn(u32) -> Result<FlowConfig, E>,
    E: From<Error>,
{
    /// A sender whose connection is not open yet. `mss` is the payload bytes of a full segment where the script does not
    /// give it.
    pub fn new(flow: F, mss: Option<u32>) -> Self {
        Self { flow, mss, session: None }
    }

    /// The answer to line `number`, counted from 1; `None` for a blank line.
    ///
    /// # Errors
    /// If `text` is no line of a script, or its event is impossible now; those of `flow`.
    pub fn answer(&mut self, number: usize, text: &str) -> Result<Option<Output>, E> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let line = Line::read(number, text)?;
        let (at_us, event) = line.event()?;
        let opening = match (&mut self.session, event) {
            (Some(_), Event::Established(_)) => {
                return Err(line.impossible("do", "the connection is open already").into());
            }
            (Some(session), event) => return Ok(Some(session.handle(&line, at_us, &event)?)),
            (None, Event::Established(opening)) => opening,
            (None, _) => {
                let why = "the connection is not open; begin with \"established\"";
                return Err(line.impossible("do", why).into());
            }
        };
        let missing = || line.missing("mss", "payload bytes of a full segment, here or by --mss");
        let mss = opening.mss.or(self.mss).ok_or_else(missing)?;
        let (session, answer) = Session::open((self.flow)(mss)?, mss, at_us, &opening);
        self.session = Some(session);
        Ok(Some(answer))
    }
}
