//! Whole transfers on exactly known paths, compared with the times and retransmissions of a Linux 6.18 kernel
//! over an emulated bottleneck (median of two or three repeats that agree to 0.2 %; `docs/predictions.md`).

use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_scenario::parse;
use firstflight_sim::outcome::simulate;

/// Path: rate in Mbit/s, round trip in ms, buffer in packets.
type Path = (u32, u32, u32);

/// Time of a transfer of `kb` kilobytes, milliseconds, and its retransmissions.
fn transfer((rate, rtt, buffer): Path, schemes: &str, kb: u32) -> (f64, u64) {
    // The emulator has only its bottleneck link, and its receivers have buffers of 32 MiB.
    let text = format!(
        "[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt} ms\"\nbuffer = \"{buffer} packets\"\n\
         access_rate = \"100 Gbit/s\"\n[[flow]]\nname = \"t\"\nprofile = \"linux\"\nsize = \"{kb} KB\"\n{schemes}\n\
         initial_receive_window = \"16 MiB\"\nreceive_window = \"20 MiB\"\n"
    );
    let loaded = parse(&text, "a path of the kernel's").expect("a scenario");
    let outcome = simulate(&build(&loaded.scenario, 1, Nanos::from_secs(1)).expect("built").network);
    let flow = &outcome.flows[0];
    (flow.completions[0] as f64 * 1e-6, flow.retransmits)
}

const RENO: &str = "avoidance = \"reno\"";
const CUBIC: &str = "avoidance = \"cubic\"";
const BBR: &str = "startup = \"bbr\"";

#[test]
fn times_and_retransmissions_agree_with_the_kernel() {
    let measured: [(Path, &str, u32, f64, u64); 14] = [
        ((20, 60, 100), RENO, 1000, 629.10, 149),
        ((20, 60, 100), RENO, 3000, 1461.74, 203),
        ((20, 60, 100), CUBIC, 10_000, 4367.06, 13),
        ((10, 200, 60), CUBIC, 1000, 1707.01, 48),
        ((10, 200, 60), CUBIC, 10_000, 9193.78, 53),
        ((10, 200, 60), BBR, 3000, 3464.09, 922),
        ((10, 100, 200), RENO, 3000, 2812.17, 286),
        ((50, 30, 60), CUBIC, 1000, 292.74, 7),
        ((50, 30, 60), BBR, 3000, 631.48, 573),
        ((30, 80, 400), RENO, 3000, 1187.87, 440),
        ((40, 120, 1000), RENO, 10_000, 2727.11, 1404),
        // A queue that is just full: the kernel loses the last packet of a round because its receiver wakes
        // late.
        ((10, 40, 20), RENO, 300, 339.79, 25),
        ((10, 40, 20), RENO, 3000, 2624.24, 26),
        ((10, 40, 20), BBR, 3000, 2575.35, 100),
    ];
    for (path, schemes, kb, ms, kernel_retransmits) in measured {
        let (took, retransmits) = transfer(path, schemes, kb);
        // One per cent in time; one per cent plus two in retransmissions.
        assert!((took / ms - 1.0).abs() < 0.01, "{path:?} {schemes} {kb} KB: {took} ms, the kernel {ms}");
        assert!(
            retransmits.abs_diff(kernel_retransmits) <= 2 + kernel_retransmits / 100,
            "{path:?} {schemes} {kb} KB: {retransmits}, the kernel {kernel_retransmits}"
        );
    }
}
