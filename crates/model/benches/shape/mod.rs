//! The benchmark's model and batches: as in `bench/peers/deepfm_torch.py`.

use std::collections::HashMap;

use gearshift_types::{
    FeatureSpec, IndexedBatch, IndexedFeature, Init, Key, ModelSpec, Pooling, Rows, TableId, TableKeys,
};

pub(crate) const FIELDS: usize = 26;
pub(crate) const IDS: usize = 100_000;
pub(crate) const DENSE: usize = 13;
pub(crate) const DIM: usize = 16;
pub(crate) const HIDDEN: [usize; 3] = [400, 400, 400];
pub(crate) const WIDTH: usize = FIELDS * DIM + DENSE;
const ZIPF: f64 = 1.05;

/// A batch with its rows.
pub(crate) struct Work {
    pub(crate) batch: IndexedBatch,
    pub(crate) rows: Vec<Rows>,
}

pub(crate) fn tables() -> Vec<String> {
    (0..FIELDS).map(|i| format!("c{i}")).collect()
}

pub(crate) fn features() -> Vec<FeatureSpec> {
    let feature = |i| FeatureSpec { name: format!("c{i}"), table: TableId(i as u16), pooling: Pooling::Sum };
    (0..FIELDS).map(feature).collect()
}

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Starts as the specification says.
pub(crate) fn dense(spec: &ModelSpec) -> Vec<f32> {
    let mut random = Random(1);
    let mut dense = Vec::new();
    for tensor in &spec.dense {
        let std = if let Init::Normal { std } = tensor.init { f64::from(std) } else { 0.0 };
        dense.extend((0..tensor.len()).map(|_| (std * random.normal()) as f32));
    }
    dense
}

pub(crate) fn work(samples: usize, seed: u64) -> Work {
    let mut random = Random(seed << 32 | 7);
    let mut total = 0.0;
    let cumulative: Vec<f64> = (1..=IDS)
        .map(|rank| {
            total += (rank as f64).powf(-ZIPF);
            total
        })
        .collect();
    let mut work = Work {
        batch: IndexedBatch {
            labels: (0..samples).map(|_| f32::from(u8::from(random.uniform() < 0.25))).collect(),
            dense: (0..samples * DENSE).map(|_| random.normal() as f32).collect(),
            dense_width: DENSE,
            ..Default::default()
        },
        rows: Vec::new(),
    };
    for table in 0..FIELDS {
        let (mut unique, mut positions) = (HashMap::new(), Vec::new());
        let mut keys = Vec::new();
        for _ in 0..samples {
            let at = random.uniform() * total;
            let id = cumulative.partition_point(|&end| end < at) as u64;
            positions.push(*unique.entry(id).or_insert_with(|| {
                keys.push(Key(id));
                keys.len() as u32 - 1
            }));
        }
        let values = (0..keys.len() * (DIM + 1)).map(|_| (0.01 * random.normal()) as f32).collect();
        work.rows.push(Rows { dim: DIM + 1, values });
        work.batch.features.push(IndexedFeature { positions, offsets: None });
        work.batch.tables.push(TableKeys { table: TableId(table as u16), keys: keys.into() });
    }
    work
}

/// The processor's name.
pub(crate) fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(": ").nth(1)).unwrap_or("unknown processor").to_owned()
}

/// The commit, marked when the tree has changes.
pub(crate) fn commit() -> String {
    let git = std::process::Command::new("git").args(["describe", "--always", "--dirty"]).output();
    git.ok().and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default().trim().to_owned()
}
