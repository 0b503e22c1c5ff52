//! Rows per second on one core: lookup and Adagrad update of a table (dim 16 + 1) under Zipf-distributed keys,
//! beside a flat array of the same rows addressed without hashing, in the same run.
//!
//! `cargo bench -p gearshift-embedding`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use gearshift_embedding::{OptimizerOptions, Shard, Store, Table, UpdateOptions};
use gearshift_types::{
    BatchId, Commit, Init, Key, Member, ModelSpec, PartitionMap, Push, ServerId, Step, TableGradients,
    TableId, TableSpec,
};

const DIM: usize = 17;
const BATCH: usize = 4096;
const BATCHES: usize = 512;
const EXPONENT: f64 = 1.05;

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Ranks by rejection-inversion (Hormann, Derflinger: "Rejection-inversion to generate variates from monotone
/// discrete distributions", 1996).
struct Zipf {
    n: f64,
    low: f64,
    high: f64,
    counter: u64,
}

impl Zipf {
    fn new(n: usize, seed: u64) -> Self {
        let (low, high) = (Self::integral(1.5) - 1.0, Self::integral(n as f64 + 0.5));
        Self { n: n as f64, low, high, counter: seed }
    }

    fn integral(x: f64) -> f64 {
        (x.powf(1.0 - EXPONENT) - 1.0) / (1.0 - EXPONENT)
    }

    fn next(&mut self) -> usize {
        loop {
            self.counter = self.counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let u = (mix(self.counter) >> 11) as f64 / (1_u64 << 53) as f64;
            let at = self.high + u * (self.low - self.high);
            let x = (1.0 + at * (1.0 - EXPONENT)).powf(1.0 / (1.0 - EXPONENT));
            let k = x.round().clamp(1.0, self.n);
            if at >= Self::integral(k + 0.5) - k.powf(-EXPONENT) {
                return k as usize - 1;
            }
        }
    }
}

/// Distinct ranks of each batch, as a worker sends them.
fn batches(rows: usize) -> Vec<Vec<u32>> {
    let mut zipf = Zipf::new(rows, 5);
    let mut seen = vec![u32::MAX; rows];
    (0..BATCHES as u32)
        .map(|batch| {
            let mut ranks = Vec::with_capacity(BATCH);
            while ranks.len() < BATCH {
                let rank = zipf.next();
                if seen[rank] != batch {
                    seen[rank] = batch;
                    ranks.push(rank as u32);
                }
            }
            ranks
        })
        .collect()
}

/// The bound: rows of `[vector | accumulator]` in one array, addressed by number.
struct Flat(Vec<f32>);

impl Flat {
    fn gather(&self, rows: &[u32], values: &mut Vec<f32>) {
        for &row in rows {
            values.extend_from_slice(&self.0[row as usize * 2 * DIM..][..DIM]);
        }
    }

    fn update(&mut self, rows: &[u32], sums: &[f32], factor: f32) {
        for (&row, sums) in rows.iter().zip(sums.chunks_exact(DIM)) {
            let row = &mut self.0[row as usize * 2 * DIM..][..2 * DIM];
            let (vector, accumulators) = row.split_at_mut(DIM);
            for ((w, a), sum) in vector.iter_mut().zip(accumulators).zip(sums) {
                let g = sum * factor;
                *a += g * g;
                *w -= 0.05 * g / (a.sqrt() + 1e-8);
            }
        }
    }
}

/// Millions of rows per second, the best of three passes over all batches.
fn rate(mut pass: impl FnMut(usize)) -> f64 {
    let best = (0..3).map(|_| {
        let start = Instant::now();
        (0..BATCHES).for_each(&mut pass);
        start.elapsed().as_secs_f64()
    });
    (BATCHES * BATCH) as f64 / best.fold(f64::INFINITY, f64::min) / 1e6
}

fn spec() -> TableSpec {
    TableSpec { name: "t".into(), segments: vec![(16, Init::Normal { std: 0.01 }), (1, Init::Zero)] }
}

fn key_of(row: u32) -> Key {
    Key(mix(u64::from(row) + 1))
}

fn bench(rows: usize) {
    let by_rank = batches(rows);
    // Ranks are laid out at random, so that frequent rows are not neighbours in the flat array either.
    let place = |rank: u32| ((u64::from(rank) * 2_654_435_761) % rows as u64) as u32;
    let rows_of: Vec<Vec<u32>> =
        by_rank.iter().map(|b| b.iter().map(|&rank| place(rank)).collect()).collect();
    let keys_of: Vec<Vec<Key>> = rows_of.iter().map(|b| b.iter().map(|&row| key_of(row)).collect()).collect();
    let sums: Vec<f32> = (0..BATCH * DIM).map(|i| (i % 7) as f32 - 3.0).collect();
    let factor = 1.0 / 4096.0;
    let mut values = Vec::with_capacity(BATCH * DIM);

    let mut flat = Flat(vec![0.01; rows * 2 * DIM]);
    let flat_pull = rate(|batch| {
        values.clear();
        flat.gather(&rows_of[batch], &mut values);
        black_box(&values);
    });
    let flat_update = rate(|batch| flat.update(&rows_of[batch], &sums, factor));
    drop(flat);

    let mut table = Table::new(&spec(), &OptimizerOptions::default(), 1);
    let start = Instant::now();
    let all: Vec<Key> = (0..rows as u32).map(key_of).collect();
    for keys in all.chunks(BATCH) {
        table.update(Step(0), keys, &sums[..keys.len() * DIM], 1.0, factor);
    }
    let create = rows as f64 / start.elapsed().as_secs_f64() / 1e6;
    let pull = rate(|batch| {
        values.clear();
        table.gather(&keys_of[batch], &mut values);
        black_box(&values);
    });
    let update = rate(|batch| table.update(Step(0), &keys_of[batch], &sums, 1.0, factor));
    let memory = table.memory();
    let per_row = |bytes: usize| bytes as f64 / memory.rows as f64;
    let all = per_row(memory.vectors + memory.slots + memory.overhead);
    println!(
        "{:>10}  {pull:>8.1} {flat_pull:>8.1} {:>6.2}  {update:>8.1} {flat_update:>8.1} {:>6.2}  {create:>8.1}  {all:>8.1} {:>8.1}",
        rows,
        pull / flat_pull,
        update / flat_update,
        per_row(memory.overhead),
    );
}

/// Holding and applying pushes through a shard: a commit of one member and one of eight.
fn bench_shard(rows: usize) {
    let spec = ModelSpec { tables: vec![spec()], ..ModelSpec::default() };
    let map = PartitionMap::new(1);
    let mut shard = Shard::new(Arc::new(spec), &UpdateOptions::default(), map, ServerId(0), 1).unwrap();
    let (mut next, mut step) = (0, 0);
    let mut run = |keys: &[Arc<[Key]>], members: usize| {
        let mut seconds = [0.0; 2];
        for chunk in keys.chunks_exact(members) {
            let mut commit = Commit { step: Step(step), members: Vec::new(), divisor_samples: 4096 };
            let push = |keys: &Arc<[Key]>| {
                let batch = BatchId(next);
                next += 1;
                commit.members.push(Member { batch, weight: 1.0 });
                let (keys, values) = (Arc::clone(keys), vec![0.5; keys.len() * DIM]);
                let tables = vec![TableGradients { table: TableId(0), keys, values }];
                Push { batch, samples: 512, dense: Vec::new(), tables }
            };
            let pushes: Vec<Push> = chunk.iter().map(push).collect();
            let start = Instant::now();
            pushes.into_iter().for_each(|push| shard.hold(push).unwrap());
            seconds[0] += start.elapsed().as_secs_f64();
            let start = Instant::now();
            shard.apply(&commit, 1.0).unwrap();
            seconds[1] += start.elapsed().as_secs_f64();
            step += 1;
        }
        let all: usize = keys.iter().map(|keys| keys.len()).sum();
        seconds.map(|seconds| all as f64 / seconds / 1e6)
    };
    let all: Vec<Key> = (0..rows as u32).map(key_of).collect();
    let fill: Vec<Arc<[Key]>> = all.chunks(BATCH).map(Arc::from).collect();
    run(&fill, 1);
    let keys: Vec<Arc<[Key]>> =
        batches(rows).iter().map(|batch| batch.iter().map(|&row| key_of(row)).collect()).collect();
    for members in [1, 8] {
        let [hold, apply] = run(&keys, members);
        println!("{rows:>10}  {members:>7}  {hold:>8.1} {apply:>8.1}");
    }
}

fn main() {
    println!(
        "Table, dim 16 + 1, Adagrad, {BATCH} distinct Zipf({EXPONENT}) keys a batch, one core; million rows/s"
    );
    println!(
        "{:>10}  {:>8} {:>8} {:>6}  {:>8} {:>8} {:>6}  {:>8}  {:>8} {:>8}",
        "rows", "pull", "flat", "ratio", "update", "flat", "ratio", "create", "B/row", "overhead"
    );
    [1_000_000, 10_000_000].into_iter().for_each(bench);
    println!("\nShard, one table; million pushed rows/s");
    println!("{:>10}  {:>7}  {:>8} {:>8}", "rows", "members", "hold", "apply");
    bench_shard(1_000_000);
}
