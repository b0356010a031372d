//! Random draws without a sequence: each draw is a function of (seed, purpose, key).
//!
//! Two runs that differ in a policy still give the same request the same noise, because a draw depends on what it is
//! for and not on how many were made before it. The mixing function is SplitMix64's finaliser (Steele, Lea, Flood,
//! OOPSLA 2014).

/// What a draw is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Offset = 1,
    Direction = 2,
    UserJitter = 3,
    StartJitter = 4,
    TagHint = 5,
    Die = 6,
    Arrival = 7,
    CmdPrio = 8,
    Suspend = 9,
    PageType = 10,
    Pause = 11,
    RandomMap = 20,
    BlockSize = 21,
    Sequential = 22,
}

/// 64 random bits.
pub(crate) fn draw(seed: u64, purpose: Purpose, key: u64) -> u64 {
    let mut z = seed
        .wrapping_add((purpose as u64).wrapping_mul(0xd134_2543_de82_ef95))
        .wrapping_add(key.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for _ in 0..2 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}

/// A uniform draw below `bound` (0 for bound 0), by multiplication; the bias is below 2^-32 for the bounds in use.
pub(crate) fn below(seed: u64, purpose: Purpose, key: u64, bound: u64) -> u64 {
    ((u128::from(draw(seed, purpose, key)) * u128::from(bound)) >> 64) as u64
}

/// An exponentially distributed time with this mean, ns. Natural logarithm in fixed point, so that every platform
/// gives the same result.
pub(crate) fn exponential(seed: u64, purpose: Purpose, key: u64, mean_ns: u64) -> u64 {
    // -ln(u) for u in (0,1]: u = m * 2^-k with m in [0.5,1); ln by the series of atanh.
    let bits = draw(seed, purpose, key) >> 11 | 1;
    let shift = bits.leading_zeros() - 11;
    let m = bits << shift; // in [2^52, 2^53)
    const ONE: i128 = 1 << 53;
    let m = i128::from(m);
    let y = ((m - ONE) << 53) / (m + ONE);
    let y2 = (y * y) >> 53;
    let mut term = y;
    let mut sum = 0i128;
    for n in 0..24 {
        sum += term / (2 * n + 1);
        term = (term * y2) >> 53;
    }
    let ln_m = 2 * sum;
    const LN2: i128 = 6_243_314_768_165_359; // ln(2) * 2^53
    let minus_ln = i128::from(shift) * LN2 - ln_m;
    ((minus_ln * i128::from(mean_ns)) >> 53) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_has_its_mean_and_its_median() {
        let n = 200_000u64;
        let mut all: Vec<u64> = (0..n).map(|k| exponential(9, Purpose::Arrival, k, 1_000_000)).collect();
        let mean = all.iter().sum::<u64>() as f64 / n as f64;
        assert!((mean - 1e6).abs() < 1e4, "{mean}");
        all.sort_unstable();
        let median = all[n as usize / 2] as f64;
        assert!((median - 693_147.0).abs() < 1e4, "{median}");
    }

    #[test]
    fn draws_below_a_bound_are_even() {
        let mut buckets = [0u32; 10];
        for key in 0..100_000 {
            buckets[below(3, Purpose::Offset, key, 10) as usize] += 1;
        }
        assert!(buckets.iter().all(|&b| (9_500..10_500).contains(&b)), "{buckets:?}");
    }
}
