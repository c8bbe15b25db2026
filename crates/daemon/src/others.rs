//! Other gateways from which this one hears, and which hear from it: those of its site, and those of the exchange.

use std::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_gateway::{Acceptance, Connection, Gateway, Observation, Remote};
use serde_json::{Value, json};

use crate::exchange::Exchange;
use crate::keys::SITE;
use crate::metrics::Metrics;
use crate::service::Site;
use crate::{clock, view};

/// Age from which an observation that is pushed is refused.
const OLDEST: Nanos = Nanos::from_secs(1800);

/// The two ways to other gateways.
pub(crate) struct Others {
    site: Option<Site>,
    pub(crate) exchange: Option<Exchange>,
    /// Observations that the site pushed: accepted and refused.
    observed: [u64; 2],
}

impl Others {
    pub(crate) fn new(site: Option<Site>, exchange: Option<Exchange>) -> Self {
        Self { site, exchange, observed: [0; 2] }
    }

    /// Hands the prefix of a connection to the exchange, with the own measurement.
    pub(crate) fn share(&mut self, now: Nanos, gateway: &Gateway, connection: &Connection) {
        let Some(exchange) = &mut self.exchange else { return };
        let prefix = gateway.prefix(connection.peer);
        exchange.saw(now, prefix, |host| gateway.observation(&prefix, host, wall()));
    }

    /// Measurements of other gateways of the prefix of an address, as far as they count.
    pub(crate) fn heard(&self, gateway: &Gateway, address: IpAddr) -> Value {
        let site = self.site.as_ref().map(|_| SITE.to_owned());
        let others = self.exchange.as_ref().map_or(vec![], Exchange::others);
        let all = site.into_iter().chain(others);
        let heard = |host: String| gateway.heard(address, &host).map(|heard| view::heard(&host, &heard));
        all.filter_map(heard).collect()
    }

    fn site(&self) -> Result<&Site, String> {
        self.site.as_ref().ok_or_else(|| "the configuration has no [site]".to_owned())
    }

    /// This gateway's measurement of the prefix of an address.
    pub(crate) fn observation(&self, gateway: &Gateway, address: IpAddr) -> Result<Value, String> {
        let site = self.site()?;
        let observation = gateway.observation(&gateway.prefix(address), SITE, wall()).ok_or_else(|| {
            let found = gateway.explain(address);
            let why = found.why_not.map_or_else(|| "no estimate".to_owned(), |why| why.to_string());
            format!("nothing to say of {}: {why}", found.prefix)
        })?;
        Ok(json!({
            "record": site.signer.as_ref().map(|signer| observation.sign(signer)),
            "observation": observation,
        }))
    }

    /// Checks an observation that the site pushed.
    pub(crate) fn accept(&mut self, gateway: &Gateway, record: &str) -> Result<Remote, String> {
        let Site { keys, weight, .. } = self.site()?;
        let settings = gateway.settings();
        let rules = Acceptance {
            keys,
            host: "",
            bits: settings.bits,
            window: settings.window,
            now: wall(),
            max_age: OLDEST,
            weight: *weight,
        };
        let accepted = Observation::accept(record, &rules);
        self.observed[usize::from(accepted.is_err())] += 1;
        accepted.map_err(|why| why.to_string())
    }

    /// Fields of `status`: the exchange, and the observations of the site.
    pub(crate) fn view(&self, metrics: &Metrics) -> [Value; 2] {
        let [accepted, refused] = self.observed;
        let exchange = self.exchange.as_ref().map(|exchange| view::share(exchange, metrics));
        [json!(exchange), json!({ "accepted": accepted, "refused": refused })]
    }
}

/// Time since 1970, seconds.
fn wall() -> u64 {
    clock::wall() / 1_000_000_000
}
