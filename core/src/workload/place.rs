//! Which block a fio process asks for next: its size and its place (`get_next_buflen`, `get_next_offset`).
//!
//! Draws that are not uniform use additions, multiplications, divisions and square roots of f64 only, which give the same
//! bits on every platform.

use crate::engine::rng::{self, Purpose};
use crate::sim::Sim;
use crate::workload::{Distribution, JobSpec, Pattern, Sequencer};

/// Rounds of the permutation.
const ROUNDS: u64 = 4;
/// Uniform draws whose sum stands for a normal one.
const NORMAL_DRAWS: u64 = 12;

/// ln(x) for x > 0: powers of two, then the series of atanh.
fn ln(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    let (mut m, mut e) = (x.max(f64::MIN_POSITIVE), 0.0);
    while m > 1.5 {
        (m, e) = (m / 2.0, e + 1.0);
    }
    while m < 0.75 {
        (m, e) = (m * 2.0, e - 1.0);
    }
    let y = (m - 1.0) / (m + 1.0);
    let (mut term, mut sum) = (y, 0.0);
    for n in 0..20 {
        sum += term / f64::from(2 * n + 1);
        term *= y * y;
    }
    2.0 * sum + e * LN_2
}

/// e^x: halved until it is small, the series, squared as often.
fn exp(x: f64) -> f64 {
    let (mut x, mut halvings) = (x.clamp(-700.0, 700.0), 0);
    while x.abs() > 0.5 {
        (x, halvings) = (x / 2.0, halvings + 1);
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..16 {
        term *= x / f64::from(n);
        sum += term;
    }
    for _ in 0..halvings {
        sum *= sum;
    }
    sum
}

/// The number to which `index` below `count` is sent by a permutation that `key` chooses: a Feistel network over the next
/// power of four, walked until it comes back into the range.
fn permuted(seed: u64, key: u64, index: u64, count: u64) -> u64 {
    if count < 2 {
        return 0;
    }
    let half = (64 - (count - 1).leading_zeros()).div_ceil(2);
    let mask = (1u64 << half) - 1;
    let mut x = index;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..ROUNDS {
            let f = rng::draw(seed ^ key, Purpose::RandomMap, right << 2 | round) & mask;
            (left, right) = (right, left ^ f);
        }
        x = left << half | right;
        if x < count {
            return x;
        }
    }
}

impl Distribution {
    /// A block below `blocks`. Which blocks are the popular ones of zipf and pareto is spread over the file.
    fn block(self, seed: u64, key: u64, job: u64, blocks: u64) -> u64 {
        let unit =
            |n: u64| (rng::draw(seed, Purpose::Offset, key * 16 + n) >> 11) as f64 / (1u64 << 53) as f64;
        let n = blocks as f64;
        let spread = |rank: f64| permuted(seed, job, (rank as u64).min(blocks - 1), blocks);
        match self {
            Distribution::Uniform => rng::below(seed, Purpose::Offset, key, blocks),
            // The inverse of the distribution with the same shape on real numbers from 1 to n + 1.
            Distribution::Zipf(theta) => {
                let s = 1.0 - theta;
                let top = ln(n + 1.0);
                let x = if s.abs() < 1e-9 {
                    exp(unit(0) * top)
                } else {
                    exp(ln(1.0 + unit(0) * (exp(s * top) - 1.0)) / s)
                };
                spread(x - 1.0)
            }
            // A share of 1 - h of the I/O goes to a share h of the blocks, or the other way round.
            Distribution::Pareto(h) => spread(n * exp(ln(unit(0)) * ln(h) / ln(1.0 - h))),
            Distribution::Normal(percent) => {
                let sum: f64 = (0..NORMAL_DRAWS).map(unit).sum();
                let x = n / 2.0 + (sum - NORMAL_DRAWS as f64 / 2.0) * n * percent / 100.0;
                (x.clamp(0.0, n - 1.0)) as u64
            }
        }
    }
}

/// The I/O that a place is looked for.
pub(super) struct Wanted {
    /// Which of the job's files.
    pub nth: usize,
    /// 0: read, 1: write.
    pub dir: usize,
    /// Bytes of it.
    pub len: u32,
    /// Bytes of the region.
    pub length: u64,
    /// Key of its random draws.
    pub key: u64,
}

impl Sim {
    /// Size of the next I/O of a process in one direction, bytes.
    pub(super) fn fio_size(&self, job: &JobSpec, dir: usize, key: u64) -> u32 {
        let shares = &job.bssplit[dir];
        if !shares.is_empty() {
            let mut draw = rng::below(self.seed, Purpose::BlockSize, key, 100);
            for share in shares {
                let percent = u64::from(share.percent);
                if draw < percent {
                    return share.bytes;
                }
                draw -= percent;
            }
            return shares[shares.len() - 1].bytes;
        }
        match job.bsrange {
            Some(range) => {
                let [least, most] = range[dir];
                let steps = u64::from(most.saturating_sub(least) / least.max(1)) + 1;
                least * (1 + rng::below(self.seed, Purpose::BlockSize, key, steps) as u32)
            }
            None => job.bs[dir],
        }
    }

    /// Place of the next I/O, in bytes from the start of a region of `length` bytes.
    pub(super) fn fio_place(&mut self, t: usize, job: &JobSpec, wanted: &Wanted) -> u64 {
        let &Wanted { nth, dir, len, length, key } = wanted;
        let least = u64::from(job.block_min(dir));
        let len = u64::from(len);
        let room = length.saturating_sub(len);
        let p = &mut self.tasks[t].program;
        if p.position.len() <= nth {
            p.position.resize(job.files.len(), [0; 2]);
        }
        if job.pattern == Pattern::Sequential {
            // One that does not fit any more starts over.
            let blocks = (length / len).max(1);
            let position = p.position[nth][dir];
            let at = if job.sizes_vary() { position % length } else { position / len % blocks * len };
            let at = if at > room { 0 } else { at };
            p.position[nth][dir] =
                if at == 0 && position > 0 && job.sizes_vary() { len } else { position + len };
            return at;
        }
        let (last, run) = (p.last[dir], p.run[dir]);
        p.position[nth][dir] += len;
        // Several I/Os from one random place (rw=randread:8).
        if run > 0 {
            p.run[dir] -= 1;
            let at = match job.sequencer {
                Sequencer::Sequential => last.0 + last.1,
                Sequencer::Identical => last.0,
            };
            if at <= room {
                p.last[dir] = (at, len);
                return at;
            }
        }
        p.run[dir] = job.run.saturating_sub(1);
        let share = u64::from(job.percentage_random[dir]);
        if share < 100 && rng::below(self.seed, Purpose::Sequential, key, 100) >= share {
            let at = if last.0 + last.1 <= room { last.0 + last.1 } else { 0 };
            self.tasks[t].program.last[dir] = (at, len);
            return at;
        }
        // Sizes that differ begin at multiples of the smallest.
        let unit = if job.sizes_vary() { least } else { len };
        let blocks = (room / unit) + 1;
        let map = job.random_map && job.distribution == Distribution::Uniform && !job.sizes_vary();
        let block = if map {
            let p = &mut self.tasks[t].program;
            let index = p.mapped;
            p.mapped += 1;
            let lap = index / blocks;
            permuted(self.seed, (t as u64) << 32 ^ (nth as u64) << 24 ^ lap, index % blocks, blocks)
        } else {
            job.distribution.block(self.seed, key, self.tasks[t].job.into(), blocks)
        };
        let at = block * unit;
        self.tasks[t].program.last[dir] = (at, len);
        at
    }
}

impl JobSpec {
    /// Whether its I/Os have several sizes.
    pub(crate) fn sizes_vary(&self) -> bool {
        let mixed = (1..100).contains(&self.rwmixread) && self.bs[0] != self.bs[1];
        mixed || self.bsrange.is_some() || self.bssplit.iter().any(|shares| !shares.is_empty())
    }

    /// Smallest and largest block of a direction, bytes.
    pub(crate) fn block_min(&self, dir: usize) -> u32 {
        let split = self.bssplit[dir].iter().map(|share| share.bytes).min();
        split.or(self.bsrange.map(|range| range[dir][0])).unwrap_or(self.bs[dir]).max(512)
    }

    /// See [`JobSpec::block_min`].
    pub(crate) fn block_max(&self, dir: usize) -> u32 {
        let split = self.bssplit[dir].iter().map(|share| share.bytes).max();
        split.or(self.bsrange.map(|range| range[dir][1])).unwrap_or(self.bs[dir])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn logarithm_and_power_agree_with_the_standard_library() {
        for x in [1e-9, 0.2, 0.75, 1.0, 1.5, 2.0, 10.0, 1e12] {
            assert!((ln(x) - f64::ln(x)).abs() < 1e-12 * f64::ln(x).abs().max(1.0), "{x}");
        }
        for x in [-20.0, -0.5, 0.0, 0.3, 1.0, 27.0] {
            assert!((exp(x) / f64::exp(x) - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn a_permutation_meets_every_number_once() {
        for count in [1, 2, 3, 7, 64, 1000, 4097] {
            for key in 0..3 {
                let met: BTreeSet<u64> = (0..count).map(|n| permuted(5, key, n, count)).collect();
                assert_eq!(met.len() as u64, count);
                assert!(met.last().is_some_and(|&most| most < count));
            }
        }
        let order = |key| (0..50).map(|n| permuted(5, key, n, 50)).collect::<Vec<_>>();
        assert_ne!(order(0), order(1));
        assert!(order(0).windows(2).any(|pair| pair[0] > pair[1]), "not in order");
    }

    /// Shares of the most popular blocks, most popular first.
    fn popularity(distribution: Distribution, blocks: u64) -> Vec<f64> {
        const DRAWS: u64 = 200_000;
        let mut hits = vec![0u32; blocks as usize];
        for key in 0..DRAWS {
            hits[distribution.block(3, key, 0, blocks) as usize] += 1;
        }
        hits.sort_unstable_by(|a, b| b.cmp(a));
        hits.into_iter().map(|n| f64::from(n) / DRAWS as f64).collect()
    }

    #[test]
    fn zipf_falls_with_the_power_of_the_rank() {
        for theta in [0.5, 1.0, 1.2] {
            let shares = popularity(Distribution::Zipf(theta), 1000);
            // Between ranks 10 and 100 the share falls by 10^theta, but for noise of draws and of ranking.
            let mean = |from: usize, to: usize| shares[from..to].iter().sum::<f64>() / (to - from) as f64;
            let fall = mean(9, 12) / mean(95, 106);
            let wanted = f64::powf(100.0 / 10.5, theta);
            assert!((fall / wanted - 1.0).abs() < 0.15, "{theta}: {fall} for {wanted}");
        }
    }

    #[test]
    fn pareto_gives_most_of_the_io_to_the_share_that_it_names() {
        // pareto:0.2: 80 % of the I/O goes to 20 % of the blocks.
        let shares = popularity(Distribution::Pareto(0.2), 1000);
        let popular: f64 = shares[..200].iter().sum();
        assert!((popular - 0.8).abs() < 0.01, "{popular}");
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        let draws: Vec<f64> =
            (0..50_000).map(|key| Distribution::Normal(10.0).block(3, key, 0, 10_000) as f64).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64;
        assert!(
            (mean - 5_000.0).abs() < 30.0 && (variance.sqrt() - 1_000.0).abs() < 20.0,
            "{mean} {variance}"
        );
    }
}
