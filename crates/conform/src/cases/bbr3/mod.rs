//! The test cases of draft-ietf-ccwg-bbr-06, appendix "BBR Example Test Cases", in the simulator. Each has the number of its case in the
//! order of the draft.

mod losses;
mod probe;
mod start;
mod watched;

use super::held::Held;
use super::{Case, Run};

/// Scheme of the cases.
pub(super) const LABEL: &str = "bbr3";
/// A controller from outside shows neither.
const UNSEEN: &str = "the protocol tells no bandwidth sample and takes no pacing rate";

const fn case(name: &'static str, sentence: &'static str, held: fn() -> Held) -> Case {
    Case {
        name,
        source: "draft-ietf-ccwg-bbr-06, appendix of test cases",
        sentence,
        run: Run::Here { held, unseen: UNSEEN },
    }
}

pub(super) use watched::clear;

pub(super) const CASES: &[Case] = &[
    case(
        "BBR-01",
        "Startup ends after three rounds without a quarter more rate, within 2 % of the link's rate",
        start::bbr_01_startup_ends_on_a_bandwidth_plateau,
    ),
    case(
        "BBR-02",
        "losses end Startup while the application limits every sample",
        start::bbr_02_startup_ends_on_losses_while_the_application_limits,
    ),
    case(
        "BBR-03",
        "Drain paces at half the rate, and ends with the first ACK that leaves the target in flight",
        start::bbr_03_drain_ends_on_the_flight,
    ),
    case("BBR-04", "Drain ends after its rounds, whatever is in flight", start::bbr_04_drain_ends_on_time),
    case(
        "BBR-05",
        "Up ends after three rounds without a quarter more rate",
        probe::bbr_05_up_ends_on_a_bandwidth_plateau,
    ),
    case(
        "BBR-06",
        "losses end Up while the application limits",
        probe::bbr_06_up_ends_on_losses_while_the_application_limits,
    ),
    case(
        "BBR-07a",
        "Up stays for 20 rounds and more while the application limits and nothing is lost",
        probe::bbr_07_up_stays_while_the_application_limits,
    ),
    case(
        "BBR-07b",
        "so does Startup, for 60 rounds and more",
        start::bbr_07_startup_stays_while_the_application_limits,
    ),
    case(
        "BBR-08",
        "Down paces at nine tenths, and Cruise follows with the first ACK within both bounds of the flight",
        probe::bbr_08_down_ends_on_the_flight,
    ),
    case(
        "BBR-09",
        "the wait ends Down on a slower link, and Refill follows",
        probe::bbr_09_down_ends_after_the_longest_wait,
    ),
    case(
        "BBR-10",
        "ProbeRTT comes after 5 s without a lower RTT, with half the window, for 200 ms and a round",
        probe::bbr_10_probe_rtt_is_entered_and_left,
    ),
    case("BBR-11", "an idle sender needs no ProbeRTT", probe::bbr_11_idleness_takes_the_place_of_probe_rtt),
    case(
        "BBR-12",
        "Startup finds the rate of a link that aggregates, with a window above two BDP",
        start::bbr_12_startup_finds_the_rate_of_a_link_that_aggregates,
    ),
    case(
        "BBR-13",
        "Cruise adds the aggregate of ten rounds to the window, and the link stays full",
        probe::bbr_13_cruise_keeps_a_link_full_that_aggregates,
    ),
    case(
        "BBR-14",
        "with a BDP below a packet the window is four packets at least, and the rate that of the link",
        probe::bbr_14_a_bdp_below_one_packet_is_managed,
    ),
    case(
        "BBR-15",
        "Up finds ten times the rate: the step of the bound doubles with each round",
        losses::bbr_15_ten_times_the_rate_is_found,
    ),
    case(
        "BBR-16",
        "a tenth of the rate bounds the flow at once, and is the estimate after two cycles",
        losses::bbr_16_a_tenth_of_the_rate_is_found,
    ),
    case(
        "BBR-17",
        "a policer's drops set the short-term bounds, and less than 2 % is lost in Cruise",
        losses::bbr_17_a_policer_is_met_without_lasting_losses,
    ),
    case(
        "BBR-18",
        "a spurious fast recovery gives back state, bounds and window",
        losses::bbr_18_a_spurious_fast_recovery_is_undone,
    ),
    case(
        "BBR-19",
        "a spurious timeout gives back state, bounds and window",
        losses::bbr_19_a_spurious_timeout_is_undone,
    ),
    case(
        "BBR-20",
        "ProbeRTT leads back to a Startup that is not over",
        start::bbr_20_probe_rtt_leads_back_to_startup_that_is_not_over,
    ),
    case(
        "BBR-21",
        "losses in Up lower the bound to 0.7 of the target at least, and Down follows at once",
        losses::bbr_21_losses_in_up_lower_the_bound,
    ),
    case(
        "BBR-22",
        "an application that pauses in Refill does not lower the estimate",
        probe::bbr_22_an_application_that_pauses_in_refill_does_not_lower_the_estimate,
    ),
];
