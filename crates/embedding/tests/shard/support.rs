//! A small model and several shards of it, for the tests of this crate.

use std::sync::Arc;

use gearshift_embedding::{OptimizerKind, OptimizerOptions, Shard, ShardDigest, Store, UpdateOptions};
use gearshift_types::{
    BatchId, Commit, DenseTensor, Init, Key, Member, ModelSpec, PartitionMap, PullRequest, Push, ServerId,
    Step, TableGradients, TableId, TableKeys, TableSpec,
};

pub(crate) const SEED: u64 = 11;

pub(crate) const KINDS: [OptimizerKind; 5] = [
    OptimizerKind::Sgd,
    OptimizerKind::Adagrad,
    OptimizerKind::RowWiseAdagrad,
    OptimizerKind::Adam,
    OptimizerKind::Ftrl,
];

/// Two tables (dims 17 and 3), dense tensors of 3,000 and 2,600 floats, so six chunks.
pub(crate) fn spec() -> Arc<ModelSpec> {
    let table = |name: &str, segments| TableSpec { name: name.into(), segments };
    let tensor = |name: &str, shape, init| DenseTensor { name: name.into(), shape, init };
    Arc::new(ModelSpec {
        features: Vec::new(),
        tables: vec![
            table("ads", vec![(16, Init::Normal { std: 0.1 }), (1, Init::Zero)]),
            table("users", vec![(3, Init::Uniform { bound: 0.5 })]),
        ],
        dense_width: 0,
        dense: vec![
            tensor("deep.0.weight", vec![60, 50], Init::Normal { std: 0.2 }),
            tensor("deep.1.weight", vec![2600], Init::Uniform { bound: 0.1 }),
        ],
    })
}

pub(crate) fn options(kind: OptimizerKind) -> UpdateOptions {
    let sparse = OptimizerOptions { kind, l1: 1e-4, l2: 0.01, ..OptimizerOptions::default() };
    let dense = match kind {
        OptimizerKind::RowWiseAdagrad => OptimizerOptions::default(),
        _ => sparse.clone(),
    };
    UpdateOptions { sparse, dense, ..UpdateOptions::default() }
}

/// A stream of numbers for tests.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// The gradient of a whole batch: distinct keys out of `keys`, a gradient for every dense float.
pub(crate) fn batch(spec: &ModelSpec, id: u64, keys: u64, numbers: &mut Numbers) -> Push {
    let tables = spec.tables.iter().enumerate().map(|(table, spec)| {
        let mut chosen = Vec::new();
        for _ in 0..numbers.below(2 * keys) {
            let key = Key(numbers.below(keys).wrapping_mul(0x0123_4567_89AB_CDEF));
            if !chosen.contains(&key) {
                chosen.push(key);
            }
        }
        let values = (0..chosen.len() * spec.dim()).map(|_| numbers.float()).collect();
        TableGradients { table: TableId(table as u16), keys: chosen.into(), values }
    });
    let tables = tables.collect();
    Push {
        batch: BatchId(id),
        samples: 1 + numbers.below(64) as u32,
        tables,
        dense: (0..spec.dense_len()).map(|_| numbers.float()).collect(),
    }
}

/// The part of a whole batch's gradient that goes to one server.
pub(crate) fn part(spec: &ModelSpec, whole: &Push, map: PartitionMap, server: ServerId) -> Push {
    let tables = whole.tables.iter().map(|whole| {
        let dim = spec.tables[usize::from(whole.table.0)].dim();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (i, &key) in whole.keys.iter().enumerate() {
            if map.server_of_key(whole.table, key) == server {
                keys.push(key);
                values.extend_from_slice(&whole.values[i * dim..][..dim]);
            }
        }
        TableGradients { table: whole.table, keys: keys.into(), values }
    });
    let tables = tables.collect();
    let dense = whole.dense[map.dense_range_of(server, spec.dense_len())].to_vec();
    Push { batch: whole.batch, samples: whole.samples, dense, tables }
}

pub(crate) fn commit(step: u64, members: &[(u64, f32)], divisor_samples: u64) -> Commit {
    let member = |&(batch, weight)| Member { batch: BatchId(batch), weight };
    Commit { step: Step(step), members: members.iter().map(member).collect(), divisor_samples }
}

/// All shards of a job.
pub(crate) struct Job {
    pub(crate) map: PartitionMap,
    pub(crate) shards: Vec<Shard>,
}

impl Job {
    pub(crate) fn new(spec: &Arc<ModelSpec>, options: &UpdateOptions, servers: u32) -> Self {
        let map = PartitionMap::new(servers);
        let shard = |server| Shard::new(Arc::clone(spec), options, map, ServerId(server), SEED).unwrap();
        Self { map, shards: (0..servers).map(shard).collect() }
    }

    pub(crate) fn hold(&mut self, whole: &Push) {
        for shard in &mut self.shards {
            let push = part(&shard.spec().clone(), whole, self.map, shard.server());
            shard.hold(push).unwrap();
        }
    }

    pub(crate) fn apply(&mut self, commit: &Commit, scale: f32) {
        for shard in &mut self.shards {
            shard.apply(commit, scale).unwrap();
        }
    }

    /// The squared norm of a commit, summed over partitions in order.
    pub(crate) fn squared_norm(&mut self, commit: &Commit) -> f64 {
        let norms = self.shards.iter_mut().flat_map(|shard| shard.squared_norms(commit).unwrap());
        norms.map(|(_, norm)| norm).sum()
    }

    pub(crate) fn digest(&self) -> ShardDigest {
        let mut digest = ShardDigest::default();
        for shard in &self.shards {
            digest.add(&shard.digest());
        }
        digest
    }

    pub(crate) fn dense(&self) -> Vec<f32> {
        self.shards.iter().flat_map(|shard| shard.dense().to_vec()).collect()
    }

    /// The vector of a row, as pulled.
    pub(crate) fn pull(&mut self, table: TableId, key: Key) -> Vec<f32> {
        let server = self.map.server_of_key(table, key);
        let tables = vec![TableKeys { table, keys: vec![key].into() }];
        let request = PullRequest { tables, dense_known: None };
        self.shards[server.0 as usize].pull(&request).unwrap().rows.remove(0).values
    }

    pub(crate) fn checkpoint(&self) -> Vec<Vec<u8>> {
        let write = |shard: &Shard| {
            let mut bytes = Vec::new();
            shard.write_checkpoint(&mut bytes).unwrap();
            bytes
        };
        self.shards.iter().map(write).collect()
    }

    pub(crate) fn restore(
        spec: &Arc<ModelSpec>,
        options: &UpdateOptions,
        servers: u32,
        files: &[Vec<u8>],
    ) -> Self {
        let map = PartitionMap::new(servers);
        let parts: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let shard =
            |server| Shard::restore(Arc::clone(spec), options, map, ServerId(server), SEED, &parts).unwrap();
        Self { map, shards: (0..servers).map(shard).collect() }
    }
}

pub(crate) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
