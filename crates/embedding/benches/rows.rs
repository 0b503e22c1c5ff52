//! Rows per second on one core: lookup and Adagrad update of a table (dim 16 + 1) under Zipf-distributed keys,
//! beside a flat array of the same rows addressed without hashing, in the same run.
//!
//! `cargo bench -p gearshift-embedding --bench rows [-- ROWS...]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::sync::Arc;

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

/// The bound: rows of `[vector | accumulator]` in one array, addressed by number, asked for ahead of use.
struct Flat(Vec<f32>);

impl Flat {
    #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the prefetch instruction"))]
    fn ask(&self, row: Option<&u32>, floats: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(&row) = row {
            let at = row as usize * 2 * DIM;
            for float in [0, 16, 32].into_iter().filter(|float| *float < floats).chain([floats - 1]) {
                let line = self.0.as_ptr().wrapping_add(at + float);
                // SAFETY: a prefetch reads nothing and faults on no address.
                unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast()) };
            }
        }
    }

    fn gather(&self, rows: &[u32], values: &mut Vec<f32>) {
        for (i, &row) in rows.iter().enumerate() {
            self.ask(rows.get(i + 16), DIM);
            values.extend_from_slice(&self.0[row as usize * 2 * DIM..][..DIM]);
        }
    }

    fn update(&mut self, rows: &[u32], sums: &[f32], factor: f32) {
        for (i, (&row, sums)) in rows.iter().zip(sums.as_chunks::<DIM>().0).enumerate() {
            self.ask(rows.get(i + 16), 2 * DIM);
            let row: &mut [f32; 2 * DIM] =
                (&mut self.0[row as usize * 2 * DIM..][..2 * DIM]).try_into().unwrap();
            for j in 0..DIM {
                let g = sums[j] * factor;
                row[DIM + j] += g * g;
                row[j] -= 0.05 * g / (row[DIM + j].sqrt() + 1e-8);
            }
        }
    }
}

/// Processor time of this thread: unlike the clock on the wall, not moved by other load.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Millions of rows per second of processor time, by the median batch.
fn rate(mut pass: impl FnMut(usize)) -> f64 {
    let mut seconds: Vec<f64> = (0..3 * BATCHES)
        .map(|batch| {
            let start = cpu_seconds();
            pass(batch % BATCHES);
            cpu_seconds() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    BATCH as f64 / seconds[seconds.len() / 2] / 1e6
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
    let all: Vec<Key> = (0..rows as u32).map(key_of).collect();
    let mut seconds = Vec::new();
    for keys in all.chunks(BATCH) {
        let start = cpu_seconds();
        table.update(Step(0), keys, &sums[..keys.len() * DIM], 1.0, factor);
        seconds.push(cpu_seconds() - start);
    }
    seconds.sort_by(f64::total_cmp);
    let create = BATCH as f64 / seconds[seconds.len() / 2] / 1e6;
    drop(all);
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
        let mut seconds = [Vec::new(), Vec::new()];
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
            let start = cpu_seconds();
            pushes.into_iter().for_each(|push| shard.hold(push).unwrap());
            seconds[0].push(cpu_seconds() - start);
            let start = cpu_seconds();
            shard.apply(&commit, 1.0).unwrap();
            seconds[1].push(cpu_seconds() - start);
            step += 1;
        }
        seconds.map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            (BATCH * members) as f64 / seconds[seconds.len() / 2] / 1e6
        })
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
        "Table, dim 16 + 1, Adagrad, {BATCH} distinct Zipf({EXPONENT}) keys a batch, one core; million rows/s of processor time"
    );
    println!(
        "{:>10}  {:>8} {:>8} {:>6}  {:>8} {:>8} {:>6}  {:>8}  {:>8} {:>8}",
        "rows", "pull", "flat", "ratio", "update", "flat", "ratio", "create", "B/row", "overhead"
    );
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes }.into_iter().for_each(bench);
    println!("\nShard, one table; million pushed rows/s of processor time");
    println!("{:>10}  {:>7}  {:>8} {:>8}", "rows", "members", "hold", "apply");
    bench_shard(1_000_000);
}
