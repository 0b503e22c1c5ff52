//! The teacher: the true click probability of a generated sample.
//!
//! logit = bias + first_order * sum over fields of (w0 cos(r t) + w1 sin(r t)) + pairwise * sum over 30 pairs of
//! fields of the dot product of their IDs' latent vectors (length 4) + first_order * sum over dense features of
//! c_j z_j, where t is the part's number and z_j the standardised ln(1 + x_j). w0, w1, c and the latent entries are
//! standard normal, r is uniform in 0..drift. All are pure functions of (seed, field, ID): no memory of the size of
//! a vocabulary.

use super::normal::Normals;
use super::zipf::Zipf;
use crate::options::GeneratorOptions;
use crate::random::{Stream, mix, mix2};

const PAIRS: usize = 30;
const RANK: usize = 4;
/// Distinct rotation speeds.
const SPEEDS: usize = 1024;
/// Largest dense value, as in Criteo's data a 31-bit integer.
const DENSE_MAX: f32 = 2_147_483_520.0;

/// The teacher of one (options, seed).
#[derive(Clone, Debug)]
pub(crate) struct Teacher {
    seed: u64,
    bias: f32,
    first_order: f32,
    pairwise: f32,
    drift: f64,
    new_ids_every_parts: u32,
    fields: Vec<Field>,
    pairs: Vec<(u16, u16)>,
    dense: Vec<Dense>,
    normals: Normals,
}

#[derive(Clone, Debug)]
struct Field {
    zipf: Zipf,
    vocabulary: u64,
    salt: u64,
}

/// A dense feature: x = floor(exp(mu + sigma z)).
#[derive(Clone, Debug)]
struct Dense {
    mu: f32,
    sigma: f32,
    /// Of ln(1 + x).
    mean: f32,
    /// The weight over the standard deviation of ln(1 + x).
    weight: f32,
}

/// One generated sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// The category of each field, as the 32-bit number that its 8 hexadecimal digits show.
    pub categories: Vec<u32>,
    /// Dense values before ln(1 + x).
    pub dense: Vec<u32>,
    /// The teacher's logit.
    pub logit: f32,
    /// The label.
    pub clicked: bool,
    latent: Vec<[f32; RANK]>,
}

/// The teacher at one part.
#[derive(Clone, Debug)]
pub(crate) struct Day<'a> {
    teacher: &'a Teacher,
    part: u32,
    /// (cos, sin) of each rotation speed times the part.
    turns: Vec<(f32, f32)>,
}

impl Teacher {
    pub(crate) fn new(options: &GeneratorOptions, seed: u64) -> Self {
        let normals = Normals::new();
        let fields = options
            .vocabularies
            .iter()
            .enumerate()
            .map(|(at, &vocabulary)| Field {
                zipf: Zipf::new(vocabulary, options.zipf),
                vocabulary,
                salt: mix2(mix2(seed, 1), at as u64),
            })
            .collect();
        let mut stream = Stream::new(mix2(seed, 2));
        let dense = (0..options.dense).map(|_| Dense::new(&mut stream, &normals)).collect();
        Self {
            seed,
            bias: options.bias as f32,
            first_order: options.first_order as f32,
            pairwise: options.pairwise as f32,
            drift: options.drift,
            new_ids_every_parts: options.new_ids_every_parts,
            fields,
            pairs: pairs(options.vocabularies.len(), &mut Stream::new(mix2(seed, 3))),
            dense,
            normals,
        }
    }

    pub(crate) fn day(&self, part: u32) -> Day<'_> {
        let turn = |speed: usize| {
            let speed = (speed as f64 + 0.5) / SPEEDS as f64 * self.drift;
            let angle = speed * f64::from(part);
            (angle.cos() as f32, angle.sin() as f32)
        };
        Day { teacher: self, part, turns: (0..SPEEDS).map(turn).collect() }
    }
}

impl Dense {
    fn new(stream: &mut Stream, normals: &Normals) -> Self {
        let mu = (0.5 + 4.5 * stream.unit()) as f32;
        let sigma = (0.8 + 1.2 * stream.unit()) as f32;
        let weight = normals.of(stream.next());
        let logs = || (0..4096).map(|z| f64::from(value(mu, sigma, normals.of(z))).ln_1p());
        let mean = logs().sum::<f64>() / 4096.0;
        let variance = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / 4096.0;
        Self { mu, sigma, mean: mean as f32, weight: weight / variance.sqrt().max(0.1) as f32 }
    }
}

#[inline]
fn value(mu: f32, sigma: f32, z: f32) -> u32 {
    (mu + sigma * z).exp().min(DENSE_MAX) as u32
}

/// Up to [`PAIRS`] different pairs of fields.
fn pairs(fields: usize, stream: &mut Stream) -> Vec<(u16, u16)> {
    let mut all: Vec<(u16, u16)> =
        (0..fields as u16).flat_map(|a| (a + 1..fields as u16).map(move |b| (a, b))).collect();
    let wanted = all.len().min(PAIRS);
    for at in 0..wanted {
        let other = at + stream.below((all.len() - at) as u32) as usize;
        all.swap(at, other);
    }
    all.truncate(wanted);
    all
}

impl Day<'_> {
    /// Makes sample `row` of the part.
    pub(crate) fn sample(&self, row: u64, sample: &mut Sample) {
        let teacher = self.teacher;
        let mut stream = Stream::new(mix2(mix2(mix2(teacher.seed, 4), u64::from(self.part)), row));
        sample.categories.clear();
        sample.dense.clear();
        sample.latent.clear();
        let mut first = 0.0;
        for field in &teacher.fields {
            first += self.category(field, &mut stream, sample);
        }
        let mut pairwise = 0.0;
        for &(a, b) in &teacher.pairs {
            let (a, b) = (&sample.latent[usize::from(a)], &sample.latent[usize::from(b)]);
            pairwise += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
        }
        for dense in &teacher.dense {
            let bits = stream.next();
            let z =
                (teacher.normals.of(bits) + teacher.normals.of(bits >> 12)) * std::f32::consts::FRAC_1_SQRT_2;
            let x = value(dense.mu, dense.sigma, z);
            sample.dense.push(x);
            first += dense.weight * ((x as f32).ln_1p() - dense.mean);
        }
        sample.logit = teacher.bias + teacher.first_order * first + teacher.pairwise * pairwise;
        sample.clicked = stream.unit() < 1.0 / (1.0 + f64::from(-sample.logit).exp());
    }

    /// Draws the field's ID, notes its category and latent vector, and returns its rotated weight.
    #[inline]
    fn category(&self, field: &Field, stream: &mut Stream, sample: &mut Sample) -> f32 {
        let rank = field.zipf.sample(stream) - 1;
        let id = match self.teacher.new_ids_every_parts {
            0 => rank,
            every => {
                let phase = mix(field.salt ^ rank) % u64::from(every);
                let life = (u64::from(self.part) + phase) / u64::from(every);
                rank.wrapping_add(life.wrapping_mul(field.vocabulary))
            }
        };
        sample.categories.push(category_of(id as u32 ^ field.salt as u32));
        let normals = &self.teacher.normals;
        let bits = mix2(field.salt, id);
        let more = mix(bits ^ 0x6C61_7465_6E74);
        let latent = [more, more >> 12, more >> 24, more >> 36].map(|bits| normals.of(bits));
        sample.latent.push(latent);
        let (cos, sin) = self.turns[(bits >> 24) as usize % SPEEDS];
        normals.of(bits) * cos + normals.of(bits >> 12) * sin
    }
}

/// A bijection of 32 bits ("lowbias32", Chris Wellons), so that different IDs of a field have different categories
/// as long as vocabulary times lives stays below 2^32.
#[inline]
fn category_of(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7FEB_352D);
    x = (x ^ (x >> 15)).wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}
