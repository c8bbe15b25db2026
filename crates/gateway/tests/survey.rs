//! Surveys.

use core::net::IpAddr;

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Found, Settings, Survey};

fn survey(requests: impl IntoIterator<Item = (Nanos, IpAddr)>) -> Found {
    let mut survey = Survey::new(&Settings::default());
    requests.into_iter().for_each(|(at, client)| survey.add(at, client, None));
    survey.finish()
}

#[test]
fn hits_begin_when_a_network_has_enough_hosts_and_samples() {
    // Hosts 1, 2, 3 in turn, one request a second for 100 s. Eight samples that are seconds old weigh a
    // little less than eight new ones, so that the first nine requests come without a plan.
    let requests = (0..100).map(|i| (Nanos::from_secs(1_700_000_000 + i), host((i % 3) as u8 + 1)));
    let found = survey(requests);
    assert_eq!((found.requests, found.span_s), (100, 99.0));
    assert_eq!(found.hits, 0.91);
    assert_eq!(found.prefixes, 1);
    assert!(found.bytes > 400, "{found:?}");
    assert_eq!(found.judged, None, "a log has no measurements");
}

#[test]
fn rare_networks_have_no_hits() {
    // Each of 250 networks sends one request every 2500 s, longer than two half-lives.
    let request = |i: u64| (Nanos::from_secs(10 * i), [10, 0, (i % 250) as u8, (i % 7) as u8].into());
    let found = survey((0..2000).map(request));
    assert_eq!(found.hits, 0.0);
}

#[test]
fn measured_connections_show_how_often_a_prefix_has_several_paths() {
    let mut survey = Survey::new(&Settings::default());
    for i in 0..600u32 {
        // Networks 0 to 4: one window each. Network 5: two.
        let third = (i % 6) as u8;
        let number = (i / 6 % 8) as u8;
        let segments = if third == 5 && number.is_multiple_of(2) { 100 } else { 20 };
        let connection = exact(f64::from(i), [10, 0, third, number].into(), segments);
        survey.add_measured(&Connection { arm: firstflight_gateway::Arm::Stock, ..connection });
    }
    let judged = survey.finish().judged.expect("measurements");
    assert_eq!((judged.prefixes, judged.disagree), (6, 1));
    // Connections with a plan all measure their path. Of the networks of one window none errs, and a network whose hosts disagree
    // has no plan, or one before its second window was seen.
    assert!(judged.connections > 400 && judged.wrong <= 100, "{judged:?}");
}

#[test]
fn requests_are_weighed_by_their_sizes() {
    // One network, one request a second, from three hosts in turn. Of each ten: six of 5 KB, three of 100 KB, one of 1 MB.
    let mut survey = Survey::new(&Settings::default());
    for i in 0..1000_u64 {
        let bytes = match i % 10 {
            0..6 => 5_000,
            6..9 => 100_000,
            _ => 1_000_000,
        };
        survey.add(Nanos::from_secs(i), host((i % 3) as u8 + 1), Some(bytes));
    }
    let found = survey.finish();
    let sized = found.sized.expect("sizes");
    assert_eq!((sized.requests, sized.larger), (1000, 0.4));
    // By hand: those of 5 KB, 4 segments, are no evidence. Of 400 larger requests the first nine come without a plan, because eight samples
    // that are seconds old weigh a little less than eight.
    assert_eq!(sized.larger_hits, 0.391);
    // 600 of 5 KB, 300 of 100 KB and 100 of 1 MB are 133 MB; without a plan came seven of 100 KB and two of 1 MB.
    assert_eq!(sized.bytes_share, 127_300_000.0 / 133_000_000.0);
    // Small requests alone found no plan.
    let mut small = Survey::new(&Settings::default());
    (0..1000).for_each(|i| small.add(Nanos::from_secs(i), host((i % 3) as u8 + 1), Some(5_000)));
    assert_eq!(small.finish().hits, 0.0);
}

#[test]
fn the_work_of_a_survey_grows_with_the_requests_whether_or_not_each_has_its_own_network() {
    let reviews = |requests: u32, networks: u32| {
        let mut survey = Survey::new(&Settings::default());
        for i in 0..requests {
            let [_, a, b, c] = (i % networks).to_be_bytes();
            // An hour, whatever their number.
            let at = Nanos(u64::from(i) * 3_600_000_000_000 / u64::from(requests));
            survey.add(at, [10 + a, b, c, 7].into(), None);
        }
        survey.reviews()
    };
    for requests in [20_000, 40_000, 80_000] {
        for networks in [256, requests] {
            // One review for each request, and four more at most for the sweeps.
            let found = reviews(requests, networks);
            assert!(found <= 5 * u64::from(requests), "{requests} requests of {networks} networks: {found}");
        }
    }
}
