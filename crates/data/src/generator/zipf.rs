//! Zipf-distributed ranks over any vocabulary, without a table of its size.
//!
//! P(k) = k^-s / sum over i = 1..=n of i^-s. The most frequent ranks come from an alias table (Walker 1977, Vose
//! 1991) of fixed size, the tail from rejection-inversion (Hoermann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", ACM TOMACS 6(3), 1996). Both are exact; the share of the head
//! uses the Euler-Maclaurin sum of the tail, exact to rounding.

use crate::random::Stream;

/// Ranks that the alias table covers.
const HEAD: u64 = 512;

#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    head: Vec<Alias>,
    /// Of the head, scaled to 2^64; meaningless without a tail.
    head_share: u64,
    tail: Option<Tail>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Alias {
    keep: u32,
    other: u32,
}

impl Zipf {
    /// Ranks 1 to `n` (at least 1) with exponent `s` (0 or more).
    pub(crate) fn new(n: u64, s: f64) -> Self {
        assert!(n >= 1 && s >= 0.0, "a Zipf distribution over {n} ranks with exponent {s}");
        let weights: Vec<f64> = (1..=n.min(HEAD)).map(|k| (k as f64).powf(-s)).collect();
        let head_sum = weights.iter().rev().sum::<f64>();
        let tail_sum = if n > HEAD { power_sum(HEAD + 1, n, s) } else { 0.0 };
        let share = head_sum / (head_sum + tail_sum);
        Self {
            head: alias_table(&weights, head_sum),
            head_share: (share * 2.0_f64.powi(64)) as u64,
            tail: (n > HEAD).then(|| Tail::new(HEAD + 1, n, s)),
        }
    }

    /// A rank from 1 on.
    #[inline]
    pub(crate) fn sample(&self, stream: &mut Stream) -> u64 {
        if let Some(tail) = &self.tail
            && stream.next() >= self.head_share
        {
            return tail.sample(stream);
        }
        let bits = stream.next();
        let at = ((bits >> 32) * self.head.len() as u64) >> 32;
        let alias = self.head[at as usize];
        if (bits as u32) < alias.keep { at + 1 } else { u64::from(alias.other) + 1 }
    }
}

/// Vose's alias method; probabilities are kept to 2^-32.
fn alias_table(weights: &[f64], sum: f64) -> Vec<Alias> {
    let mut scaled: Vec<f64> = weights.iter().map(|w| w / sum * weights.len() as f64).collect();
    let mut table: Vec<Alias> =
        (0..weights.len()).map(|at| Alias { keep: u32::MAX, other: at as u32 }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).partition(|&at| scaled[at] < 1.0);
    while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
        small.pop();
        table[low] = Alias { keep: (scaled[low] * 2.0_f64.powi(32)) as u32, other: high as u32 };
        scaled[high] -= 1.0 - scaled[low];
        if scaled[high] < 1.0 {
            large.pop();
            small.push(high);
        }
    }
    table
}

/// Sum of k^-s for k = a..=b by Euler-Maclaurin; `a` is large enough for two correction terms.
fn power_sum(a: u64, b: u64, s: f64) -> f64 {
    let (a, b) = (a as f64, b as f64);
    let f = |x: f64| x.powf(-s);
    let first = |x: f64| -s * x.powf(-s - 1.0);
    let third = |x: f64| -s * (s + 1.0) * (s + 2.0) * x.powf(-s - 3.0);
    integral(b, s) - integral(a, s) + (f(a) + f(b)) / 2.0 + (first(b) - first(a)) / 12.0
        - (third(b) - third(a)) / 720.0
}

/// Integral of x^-s from 1 to `x`: (x^(1-s) - 1) / (1 - s), ln x for s = 1.
fn integral(x: f64, s: f64) -> f64 {
    let log = x.ln();
    let t = (1.0 - s) * log;
    if t.abs() > 1e-8 { t.exp_m1() / t * log } else { (1.0 + t / 2.0) * log }
}

/// Inverse of [`integral`].
fn inverse(y: f64, s: f64) -> f64 {
    let t = (y * (1.0 - s)).max(-1.0);
    let log = if t.abs() > 1e-8 { t.ln_1p() / t * y } else { (1.0 - t / 2.0) * y };
    log.exp()
}

/// Rejection-inversion over ranks `first..=last`; names as in the paper: `h` the weight, `H` its integral.
#[derive(Clone, Debug)]
struct Tail {
    first: f64,
    last: f64,
    s: f64,
    area_low: f64,
    area_high: f64,
    /// Accept without computing when k - x is at most this.
    squeeze: f64,
}

impl Tail {
    fn new(first: u64, last: u64, s: f64) -> Self {
        let (first, last) = (first as f64, last as f64);
        let h = |x: f64| x.powf(-s);
        Self {
            first,
            last,
            s,
            area_low: integral(first + 0.5, s) - h(first),
            area_high: integral(last + 0.5, s),
            squeeze: first + 1.0 - inverse(integral(first + 1.5, s) - h(first + 1.0), s),
        }
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.area_high + stream.unit() * (self.area_low - self.area_high);
            let x = inverse(area, self.s);
            let k = (x + 0.5).floor().clamp(self.first, self.last);
            if k - x <= self.squeeze || area >= integral(k + 0.5, self.s) - k.powf(-self.s) {
                return k as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of `draws` ranks over bins of equal exponent range against the exact probabilities.
    fn chi_square_per_bin(n: u64, s: f64, draws: u64) -> f64 {
        let zipf = Zipf::new(n, s);
        let mut stream = Stream::new(n ^ 0x51);
        let bin = |k: u64| if k <= 16 { k as usize } else { 17 + (4.0 * (k as f64 / 16.0).log2()) as usize };
        let mut expected = vec![0.0; bin(n) + 1];
        let mut seen = vec![0.0; bin(n) + 1];
        let total: f64 = (1..=n).map(|k| (k as f64).powf(-s)).sum();
        for k in 1..=n {
            expected[bin(k)] += (k as f64).powf(-s) / total * draws as f64;
        }
        for _ in 0..draws {
            let k = zipf.sample(&mut stream);
            assert!((1..=n).contains(&k));
            seen[bin(k)] += 1.0;
        }
        let bins: Vec<_> = expected.iter().zip(&seen).filter(|(e, _)| **e > 5.0).collect();
        bins.iter().map(|(e, o)| (*o - *e).powi(2) / *e).sum::<f64>() / (bins.len().max(2) - 1) as f64
    }

    #[test]
    fn frequencies_match_the_distribution() {
        for (n, s) in
            [(4, 1.05), (512, 1.05), (513, 1.05), (3000, 0.0), (100_000, 1.05), (100_000, 1.0), (50_000, 2.2)]
        {
            let chi = chi_square_per_bin(n, s, 1_000_000);
            assert!(chi < 2.2, "n {n} s {s}: chi-square per degree of freedom {chi}");
        }
    }

    #[test]
    fn one_rank_and_huge_vocabularies_work() {
        let mut stream = Stream::new(1);
        assert!((0..100).all(|_| Zipf::new(1, 1.05).sample(&mut stream) == 1));
        let huge = Zipf::new(1 << 32, 1.05);
        let far = (0..10_000).filter(|_| huge.sample(&mut stream) > 1 << 24).count();
        // Exact share of ranks above 2^24: 0.154 (integral of x^-1.05 over both ranges).
        assert!((1350..1750).contains(&far), "{far}");
    }
}
