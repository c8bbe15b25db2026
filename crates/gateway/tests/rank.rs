//! The prefixes that come first, and those that an order concerns, against a search through all of them.

use std::cmp::Reverse;
use std::net::IpAddr;

use firstflight_gateway::{Explanation, Gateway, Override, Settings};
use firstflight_paths::Prefix;

use crate::common::*;

/// Hosts 1 to `hosts` of network `number` of 10.0.0.0/8, and of 2001:db8::/32, report at this time.
fn report(gateway: &mut Gateway, number: u16, hosts: u8, seconds: f64) {
    let [high, low] = number.to_be_bytes();
    for host in 1..=hosts {
        let v6 = [0x20, 1, 0xd, 0xb8, high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
        for peer in [IpAddr::from([10, high, low, host]), IpAddr::from(v6)] {
            for _ in 0..3 {
                gateway.report(&exact(seconds, peer, 40), &mut vec![]);
            }
        }
    }
}

/// The rank that `top` states: with a plan, then with the most hosts, then the latest reported, then by address.
fn rank(found: &Explanation) -> (bool, Reverse<usize>, Reverse<Option<firstflight_contract::Nanos>>, Prefix) {
    (found.plan.is_none(), Reverse(found.hosts), Reverse(found.seen), found.prefix)
}

#[test]
fn the_first_prefixes_are_those_of_a_sorted_list_in_whatever_order_they_came() {
    let times: [fn(u16) -> f64; 3] =
        [|n| f64::from(n), |n| f64::from(1000 - n), |n| f64::from(u32::from(n) * 7919 % 1009)];
    for time in times {
        let mut gateway = Gateway::new(enforcing());
        // Their places in the table.
        (0..1000).for_each(|number| report(&mut gateway, number, 1, 5.0));
        let mut numbers: Vec<u16> = (0..1000).collect();
        numbers.sort_by(|a, b| time(*a).total_cmp(&time(*b)));
        for number in numbers {
            report(&mut gateway, number, (number % 5) as u8 + 1, 10.0 + time(number));
        }
        let all = gateway.busiest(usize::MAX);
        assert_eq!((all.len(), gateway.prefixes()), (2000, 2000));
        assert!(all.iter().any(|found| found.plan.is_some()) && all.iter().any(|found| found.plan.is_none()));
        assert!(all.is_sorted_by_key(rank));
        for limit in [0, 1, 20, 999, 1500, 5000] {
            assert_eq!(gateway.busiest(limit), all[..limit.min(all.len())], "{limit}");
        }
    }
}

#[test]
fn an_order_concerns_the_prefixes_that_it_contains_and_no_other() {
    let mut gateway = Gateway::new(Settings { split: Some((28, 56)), ..enforcing() });
    for number in 0..300 {
        report(&mut gateway, number, 4, 10.0 + f64::from(number) / 10.0);
    }
    let plans = |gateway: &Gateway| {
        let mut plans: Vec<_> = gateway.plans().map(|plan| plan.prefix).collect();
        plans.sort_unstable();
        plans
    };
    let before = plans(&gateway);
    assert_eq!(before.len(), 600);
    for (order, concerned) in [
        ("10.0.7.0/24", 1),
        ("10.0.6.0/23", 2),
        ("10.0.0.0/16", 256),
        ("10.0.7.0/25", 0),
        ("10.0.7.1/32", 0),
        ("192.0.2.0/24", 0),
        ("0.0.0.0/0", 300),
        ("2001:db8:7::/48", 1),
        ("2001:db8:0:1::/64", 0),
        ("2001:db8::/40", 256),
        ("::/0", 300),
    ] {
        let prefix: Prefix = order.parse().expect("a prefix");
        let mut decisions = vec![];
        gateway.order(prefix, Some(Override::Off), &mut decisions);
        assert_eq!(decisions.len(), concerned, "{order}");
        let left: Vec<_> = before.iter().filter(|plan| !prefix.contains(plan)).copied().collect();
        assert_eq!(plans(&gateway), left, "{order}");
        gateway.order(prefix, None, &mut decisions);
        assert_eq!(plans(&gateway), before, "{order}");
    }
}
