//! Schemes outside the registry, stored as objects.

use alloc::boxed::Box;
use core::fmt::{self, Debug};

use firstflight_contract::{Ack, Congestion, Control, Declaration, Declared, Entry, Lost, Phase, Sent, Step};

use crate::scheme::{Info, Scheme, Value};

/// A scheme that the registry does not list, as an object: a program compiled once runs it beside the built-in ones.
/// [`AnyPhase::custom`](crate::registry::AnyPhase::custom) makes one from any [`Scheme`].
///
/// Each event costs one call through a pointer; the built-in schemes have none.
pub struct Custom(Box<dyn Object>);

/// A scheme that can be copied as an object.
trait Object: Scheme + Debug + Send + Sync {
    fn copy(&self) -> Box<dyn Object>;
}

impl<S: Scheme + Clone + Debug + Send + Sync + 'static> Object for S {
    fn copy(&self) -> Box<dyn Object> {
        Box::new(self.clone())
    }
}

impl Custom {
    /// This scheme as an object.
    pub(crate) fn new(scheme: impl Scheme + Clone + Debug + Send + Sync + 'static) -> Self {
        Self(Box::new(scheme))
    }
}

impl Clone for Custom {
    fn clone(&self) -> Self {
        // Of the scheme, not of the box.
        Self((*self.0).copy())
    }
}

impl Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Declared for Custom {
    fn declaration(&self) -> &'static Declaration {
        self.0.declaration()
    }
}

impl Phase for Custom {
    fn open(&mut self, entry: &Entry, control: &mut Control) {
        self.0.open(entry, control);
    }
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.0.enter(entry, control);
    }
    fn on_sent(&mut self, sent: &Sent, control: &mut Control) {
        self.0.on_sent(sent, control);
    }
    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.0.on_lost(lost, control);
    }
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.0.on_ack(ack, control)
    }
    fn spent(&self, grown: u64) -> u64 {
        self.0.spent(grown)
    }
    fn on_watched(&mut self, ack: &Ack, cwnd: u64) {
        self.0.on_watched(ack, cwnd);
    }
    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.0.on_congestion(event, control)
    }
    fn on_spurious(&mut self) {
        self.0.on_spurious();
    }
}

impl Scheme for Custom {
    fn info(&self) -> &'static Info {
        self.0.info()
    }
    fn set(&mut self, name: &str, value: Value) {
        self.0.set(name, value);
    }
}
