//! Time between packets of a telnet user: P. Danzig, S. Jamin, "tcplib: a library of TCP internetwork traffic
//! characteristics", USC-CS-91-495, 1991.
//!
//! ns-2 tabulates the distribution at 10 000 ranks. This table has every hundredth of them, every twentieth
//! above 98 %, with linear interpolation, and all above 99.8 %. Its mean is 1.099 s, that of all ranks 1.092
//! s.

use firstflight_contract::Nanos;

/// Quantiles from 0 to 0.98 in hundredths, microseconds.
#[rustfmt::skip]
const BODY: [u32; 99] = [
    606, 1_169, 1_921, 2_743, 5_901, 20_411, 30_306, 43_215, 54_268, 61_473, 68_018, 75_142, 79_410, 84_238,
    89_194, 93_429, 97_625, 99_581, 103_107, 108_607, 112_534, 117_299, 122_569, 127_237, 131_619, 136_019,
    140_820, 145_071, 148_885, 152_763, 156_296, 159_160, 163_214, 168_467, 172_978, 176_218, 179_601,
    184_895, 188_314, 191_125, 193_767, 196_131, 199_036, 203_154, 207_363, 212_404, 217_610, 222_398,
    227_040, 232_361, 236_404, 242_232, 248_305, 255_341, 261_010, 267_311, 273_292, 279_585, 286_804,
    296_070, 302_891, 315_895, 325_734, 336_536, 352_921, 368_168, 378_704, 388_837, 397_125, 407_176,
    421_481, 440_630, 462_756, 490_252, 504_732, 532_298, 563_310, 595_036, 629_249, 678_227, 725_936,
    781_010, 831_667, 886_540, 960_276, 992_910, 1_040_724, 1_122_185, 1_237_394, 1_375_279, 1_565_541,
    1_758_386, 2_044_938, 2_332_655, 2_798_428, 3_487_522, 4_485_025, 5_415_080, 8_390_906,
];

/// Quantiles from 0.98 to 0.998 in steps of 0.002, microseconds.
#[rustfmt::skip]
const UPPER: [u32; 10] = [
    8_390_906, 9_050_657, 10_055_272, 12_511_603, 13_863_282, 20_038_846, 22_780_627, 27_940_668,
    40_985_832, 59_278_188,
];

/// Quantiles from 0.998 in ten-thousandths, microseconds.
#[rustfmt::skip]
const TOP: [u32; 20] = [
    59_278_188, 59_296_969, 59_360_043, 59_389_535, 59_444_676, 59_484_121, 59_552_898, 59_625_879,
    59_702_590, 59_755_855, 59_859_945, 59_935_504, 59_962_141, 59_981_172, 64_415_309, 89_670_250,
    115_543_305, 133_351_250, 137_709_781, 209_921_219,
];

/// Quantile `p`, with `p` in `[0, 1)`.
pub(super) fn quantile(p: f64) -> Nanos {
    let straight = |table: &[u32], at: f64| {
        let at = at.clamp(0.0, (table.len() - 1) as f64);
        let step = (at as usize).min(table.len() - 2);
        let (low, high) = (f64::from(table[step]), f64::from(table[step + 1]));
        low + (at - step as f64) * (high - low)
    };
    let micros = match p {
        p if p < 0.98 => straight(&BODY, p * 100.0),
        p if p < 0.998 => straight(&UPPER, (p - 0.98) * 500.0),
        p => f64::from(TOP[(((p - 0.998) * 10_000.0) as usize).min(TOP.len() - 1)]),
    };
    Nanos(libm::round(micros * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use firstflight_document::seconds::Seconds;

    use super::*;

    #[test]
    fn quantiles_equal_those_of_ns_2_and_never_decrease() {
        // Elements 0, 2500, 5000, 7500, 9000, 9500, 9900 and 9980 of tcplib_telnet[] in ns-2.35, seconds.
        for (p, seconds) in [
            (0.0, 0.000_606),
            (0.25, 0.136_019),
            (0.5, 0.236_404),
            (0.75, 0.532_298),
            (0.9, 1.565_541),
            (0.95, 3.487_522),
            (0.99, 20.038_846),
            (0.998, 59.278188),
        ] {
            let ours = quantile(p).as_secs_f64();
            assert!((ours - seconds).abs() < 1e-6 + 1e-9 * seconds, "{p}: {ours}");
        }
        let all: Vec<_> = (0..100_000).map(|i| quantile(f64::from(i) / 1e5)).collect();
        assert!(all.is_sorted());
        assert!(quantile(1.0 - f64::EPSILON / 2.0) <= Nanos(209_921_219_000));
    }

    #[test]
    fn the_mean_is_within_one_percent_of_ns_2s() {
        // The 10 000 elements of tcplib_telnet[] have a mean of 1.09187 s.
        let mean =
            (0..1_000_000).map(|i| quantile((f64::from(i) + 0.5) / 1e6).as_secs_f64()).sum::<f64>() / 1e6;
        assert!((mean / 1.091_87 - 1.0).abs() < 0.01, "{mean}");
    }
}
