//! Start values of rows and dense parameters: pure functions of (seed, name, key or position), so that they do
//! not depend on the order in which rows appear, on the number of servers or on the CPU (plain f64 arithmetic;
//! no library function whose last bit may differ between machines).

use gearshift_types::{DenseTensor, Init, Key, TableSpec};
use twox_hash::XxHash3_64;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A stream of start values: value `i` is a function of the stream and `i`.
#[derive(Clone, Copy, Debug)]
struct Stream(u64);

impl Stream {
    fn of_name(seed: u64, kind: u64, name: &str) -> Self {
        Self(mix(mix(seed.wrapping_add(GOLDEN)) ^ XxHash3_64::oneshot_with_seed(kind, name.as_bytes())))
    }

    fn of_key(self, key: Key) -> Self {
        Self(mix(self.0 ^ mix(key.0.wrapping_add(GOLDEN))))
    }

    #[inline]
    fn bits(self, position: usize) -> u64 {
        mix(self.0.wrapping_add((position as u64).wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    fn fill(self, init: Init, first: usize, values: &mut [f32]) {
        match init {
            Init::Zero => values.fill(0.0),
            Init::Normal { std } => {
                for (i, value) in values.iter_mut().enumerate() {
                    *value = (f64::from(std) * normal_quantile(unit(self.bits(first + i)))) as f32;
                }
            }
            Init::Uniform { bound } => {
                for (i, value) in values.iter_mut().enumerate() {
                    *value = (f64::from(bound) * (2.0 * unit(self.bits(first + i)) - 1.0)) as f32;
                }
            }
        }
    }
}

/// Uniform in the open interval (0, 1), symmetric around 1/2.
#[inline]
fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
}

/// Start vectors of one table's rows.
#[derive(Clone, Debug)]
pub(crate) struct RowStart {
    stream: Stream,
    segments: Vec<(usize, Init)>,
}

impl RowStart {
    pub(crate) fn new(seed: u64, spec: &TableSpec) -> Self {
        Self { stream: Stream::of_name(seed, 1, &spec.name), segments: spec.segments.clone() }
    }

    /// Writes the start vector of `key` into `vector`, which has the table's dim.
    pub(crate) fn write(&self, key: Key, vector: &mut [f32]) {
        let stream = self.stream.of_key(key);
        let mut first = 0;
        for &(len, init) in &self.segments {
            stream.fill(init, first, &mut vector[first..first + len]);
            first += len;
        }
    }
}

/// Writes the start of floats `first..first + values.len()` of `tensor`.
pub(crate) fn fill_dense(seed: u64, tensor: &DenseTensor, first: usize, values: &mut [f32]) {
    Stream::of_name(seed, 2, &tensor.name).fill(tensor.init, first, values);
}

/// The normal quantile function to about 1e-7 relative: PPND7 of Wichura, "Algorithm AS 241: the percentage
/// points of the normal distribution", Applied Statistics 37 (1988). One uniform gives one normal.
fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = ((59.109_374_72 * r + 159.291_132_02) * r + 50.434_271_938) * r + 3.387_132_717_9;
        let below = ((67.187_563_6 * r + 78.757_757_664) * r + 17.895_169_469) * r + 1.0;
        return q * above / below;
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-ln(tail)).sqrt();
    let value = if r <= 5.0 {
        let r = r - 1.6;
        let above = ((0.170_238_211_03 * r + 1.306_728_481_6) * r + 2.756_815_39) * r + 1.423_437_277_7;
        above / ((0.120_211_329_75 * r + 0.737_001_642_5) * r + 1.0)
    } else {
        let r = r - 5.0;
        let above = ((0.017_337_203_997 * r + 0.428_682_943_37) * r + 3.081_226_386) * r + 6.657_905_115;
        above / ((0.012_258_202_635 * r + 0.241_978_942_25) * r + 1.0)
    };
    if q < 0.0 { -value } else { value }
}

/// Natural logarithm of a normal positive number in basic operations (series of 2 artanh), about 1e-13.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) | 0x3FF0_0000_0000_0000);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in [17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / odd;
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_tables() {
        // Python: statistics.NormalDist().inv_cdf(p)
        for (p, expected) in [
            (0.5, 0.0),
            (0.3, -0.524_400_512_708_041),
            (0.975, 1.959_963_984_540_053_8),
            (0.001, -3.090_232_306_167_813),
            (1e-9, -5.997_807_015_007_686),
            (1e-13, -7.348_796_102_800_677),
        ] {
            assert!((normal_quantile(p) - expected).abs() < 3e-6, "{p}: {}", normal_quantile(p));
        }
        for x in [1e-12, 0.01, 0.7, 1.0, 3.0] {
            assert!((ln(x) - x.ln()).abs() < 1e-11 * x.ln().abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn moments_are_right() {
        let spec = TableSpec {
            name: "t".into(),
            segments: vec![
                (8, Init::Normal { std: 0.5 }),
                (8, Init::Uniform { bound: 3.0 }),
                (1, Init::Zero),
            ],
        };
        let start = RowStart::new(7, &spec);
        let (mut normal, mut uniform) = ([0.0_f64; 3], [0.0_f64; 3]);
        let mut row = [1.0; 17];
        let rows = 20_000;
        for key in 0..rows {
            start.write(Key(key), &mut row);
            for (sums, part, scale) in [(&mut normal, &row[..8], 0.5), (&mut uniform, &row[8..16], 3.0)] {
                for &value in part {
                    let x = f64::from(value) / scale;
                    sums[0] += x;
                    sums[1] += x * x;
                    sums[2] += x * x * x * x;
                }
            }
            assert_eq!(row[16], 0.0);
        }
        let n = rows as f64 * 8.0;
        assert!((normal[0] / n).abs() < 0.01, "{normal:?}");
        assert!((normal[1] / n - 1.0).abs() < 0.02, "{normal:?}");
        assert!((normal[2] / n - 3.0).abs() < 0.15, "{normal:?}");
        assert!((uniform[0] / n).abs() < 0.01, "{uniform:?}");
        assert!((uniform[1] / n - 1.0 / 3.0).abs() < 0.01, "{uniform:?}");
        assert!((uniform[2] / n - 1.0 / 5.0).abs() < 0.01, "{uniform:?}");
    }

    #[test]
    fn values_are_fixed_for_good() {
        // A checkpoint leaves out rows that were never updated: their start must not change between versions.
        let spec = TableSpec { name: "ads".into(), segments: vec![(3, Init::Normal { std: 1.0 })] };
        let mut row = [0.0; 3];
        RowStart::new(42, &spec).write(Key(99), &mut row);
        assert_eq!(row.map(f32::to_bits), START_BITS, "{row:?}");
    }

    const START_BITS: [u32; 3] = [0x3D1D_8109, 0xBEA9_F0A2, 0xBF14_6422];
}
