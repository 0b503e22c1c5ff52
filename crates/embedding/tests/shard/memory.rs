//! What a table's rows cost beyond their floats.

use gearshift_embedding::{OptimizerKind, OptimizerOptions, Store, Table};
use gearshift_types::{Init, Key, Step, TableSpec};

use crate::support::{Job, KINDS, Numbers, batch, commit, options, spec};

fn filled(dim: usize, kind: OptimizerKind, rows: u64) -> Table {
    let spec = TableSpec { name: "t".into(), segments: vec![(dim, Init::Uniform { bound: 0.1 })] };
    let mut table = Table::new(&spec, &OptimizerOptions { kind, ..OptimizerOptions::default() }, 1);
    let mut numbers = Numbers(dim as u64);
    let keys: Vec<Key> = (0..rows).map(|_| Key(numbers.next())).collect();
    for keys in keys.chunks(4096) {
        table.update(Step(0), keys, &vec![1.0; keys.len() * dim], 1.0, 1.0);
    }
    assert_eq!(table.rows() as u64, rows);
    table
}

#[test]
fn overhead_is_at_most_32_bytes_per_row() {
    for dim in [1, 8, 17, 64] {
        for kind in [OptimizerKind::Sgd, OptimizerKind::Adagrad, OptimizerKind::Adam] {
            for rows in [1000, 3000, 10_000, 33_333, 100_000] {
                let memory = filled(dim, kind, rows).memory();
                assert_eq!(memory.rows as u64, rows);
                assert_eq!(memory.vectors as u64, rows * dim as u64 * 4);
                assert_eq!(memory.slots as u64, rows * kind.slot_floats(dim) as u64 * 4);
                let overhead = memory.overhead as f64 / rows as f64;
                // 8 of key, 4 of mark, at least 8 of index.
                assert!((20.0..=32.0).contains(&overhead), "dim {dim} {kind:?} rows {rows}: {overhead}");
            }
        }
    }
}

#[test]
fn overhead_holds_at_a_million_rows() {
    let memory = filled(17, OptimizerKind::Adagrad, 1_000_000).memory();
    assert!(memory.overhead <= 26 * memory.rows, "{memory:?}");
}

#[test]
fn unknown_rows_are_pulled_without_being_created() {
    for kind in KINDS {
        let mut job = Job::new(&spec(), &options(kind), 2);
        let before = job.digest();
        let table = gearshift_types::TableId(0);
        let start = job.pull(table, Key(5));
        assert_eq!(start.len(), 17);
        assert_eq!(start[16], 0.0);
        assert!(start[..16].iter().any(|value| *value != 0.0));
        assert_eq!(job.pull(table, Key(5)), start);
        assert_ne!(job.pull(table, Key(6)), start);
        assert_eq!(job.digest(), before);
        assert!(job.shards.iter().all(|shard| shard.tables().iter().all(|table| table.rows() == 0)));
    }
}

#[test]
fn held_bytes_are_counted_and_given_back() {
    let mut job = Job::new(&spec(), &options(OptimizerKind::Sgd), 1);
    let mut numbers = Numbers(4);
    let first = batch(&spec(), 0, 40, &mut numbers);
    job.hold(&first);
    let shard = &mut job.shards[0];
    let one = shard.held_bytes();
    let floats: usize =
        first.dense.len() + first.tables.iter().map(|table| table.values.len()).sum::<usize>();
    assert!(one >= floats * 4, "{one}");
    job.hold(&batch(&spec(), 1, 40, &mut numbers));
    job.hold(&first);
    let shard = &mut job.shards[0];
    assert_eq!(shard.held(), 2);
    assert_eq!(shard.memory().held, shard.held_bytes());
    job.apply(&commit(0, &[(1, 1.0)], 10), 1.0);
    assert!(job.shards[0].held_bytes() >= floats * 4);
    assert!(job.shards[0].release(first.batch));
    assert!(!job.shards[0].release(first.batch));
    assert_eq!(job.shards[0].held_bytes(), 0);
}
