//! Requests that do not fit are refused by name, and nothing has changed then.

use std::sync::Arc;

use gearshift_embedding::{BuildError, OptimizerKind, Shard, Store, StoreError};
use gearshift_types::{
    BatchId, Init, Key, ModelSpec, PartitionMap, PullRequest, ServerId, Step, TableId, TableKeys, TableSpec,
};

use crate::support::{Job, Numbers, SEED, batch, commit, options, part, spec};

fn job() -> Job {
    Job::new(&spec(), &options(OptimizerKind::Adagrad), 2)
}

fn pull(shard: &mut Shard, table: u16, keys: &[Key], known: Option<u64>) -> Result<usize, StoreError> {
    let tables = vec![TableKeys { table: TableId(table), keys: keys.into() }];
    let reply = shard.pull(&PullRequest { tables, dense_known: known.map(Step) })?;
    assert_eq!(reply.version, shard.version());
    Ok(reply.dense.map_or(0, |dense| dense.len()))
}

#[test]
fn pulls() {
    let mut job = job();
    let map = job.map;
    let foreign = (0..).map(Key).find(|&key| map.server_of_key(TableId(0), key) == ServerId(1)).unwrap();
    let shard = &mut job.shards[0];
    let error = pull(shard, 2, &[], None).unwrap_err();
    assert_eq!(error, StoreError::UnknownTable { table: TableId(2), tables: 2 });
    let error = pull(shard, 0, &[foreign], None).unwrap_err().to_string();
    assert!(error.contains("of table ads: expected 0 of 2, got a key of server 1"), "{error}");
    // The dense range comes once per version, and is one copy for all.
    let len = shard.dense_range().len();
    assert!(len > 0);
    assert_eq!(pull(shard, 0, &[], None), Ok(len));
    assert_eq!(pull(shard, 0, &[], Some(0)), Ok(0));
    assert_eq!(pull(shard, 0, &[], Some(7)), Ok(len));
    let request = PullRequest { tables: Vec::new(), dense_known: None };
    let (one, two) = (shard.pull(&request).unwrap(), shard.pull(&request).unwrap());
    assert!(Arc::ptr_eq(&one.dense.unwrap(), &two.dense.unwrap()));
    shard.apply(&commit(0, &[], 1), 1.0).unwrap();
    assert_eq!(pull(shard, 0, &[], Some(0)), Ok(len));
}

type Change<'a> = dyn Fn(&mut gearshift_types::Push) + 'a;

#[test]
fn pushes() {
    let (spec, mut job) = (spec(), job());
    let good = part(&spec, &batch(&spec, 3, 60, &mut Numbers(2)), job.map, ServerId(0));
    let other = part(&spec, &batch(&spec, 3, 60, &mut Numbers(2)), job.map, ServerId(1));
    let shard = &mut job.shards[0];
    let mut refused = |change: &Change<'_>| {
        let mut push = good.clone();
        change(&mut push);
        let error = shard.hold(push).unwrap_err().to_string();
        assert_eq!((shard.held(), shard.held_bytes()), (0, 0));
        error
    };
    let cases: [(&Change<'_>, &str); 10] = [
        (&|push| push.samples = 0, "samples of batch 3: expected at least 1, got 0"),
        (&|push| push.dense.truncate(7), "dense gradient of batch 3: expected"),
        (&|push| push.dense[1] = f32::NAN, "gradient of dense tensor deep.0.weight is not finite (NaN)"),
        (&|push| push.tables[1].table = TableId(9), "table TableId(9) is not among the 2 tables"),
        (&|push| push.tables[1].table = TableId(0), "expected"),
        (&|push| push.tables[0].values.push(0.0), "gradients of table ads in batch 3: expected"),
        (&|push| push.tables[0].keys = other.tables[0].keys.clone(), "got a key of server 1"),
        (&|push| push.tables[1] = push.tables[0].clone(), "table ads in batch 3: expected once, got twice"),
        (
            &|push| {
                let keys = Arc::make_mut(&mut push.tables[0].keys);
                keys[1] = keys[0];
            },
            "keys of table ads in batch 3: expected distinct keys, got key",
        ),
        (&|push| *push.tables[1].values.last_mut().unwrap() = f32::INFINITY, "gradient of table users, key"),
    ];
    for (change, message) in cases {
        let error = refused(change);
        assert!(error.contains(message), "{error}");
    }
    let mut bad = good.clone();
    bad.tables[0].values[2 * 17 + 16] = f32::NEG_INFINITY;
    let key = bad.tables[0].keys[2];
    match shard.hold(bad).unwrap_err() {
        StoreError::NonFiniteRow { batch, table, key: found, value } => {
            assert_eq!((batch, table.as_str(), found, value), (BatchId(3), "ads", key, f32::NEG_INFINITY));
        }
        error => panic!("{error}"),
    }
    shard.hold(good).unwrap();
}

#[test]
fn commits_are_all_or_nothing() {
    let (spec, mut job) = (spec(), job());
    let mut numbers = Numbers(2);
    job.hold(&batch(&spec, 0, 60, &mut numbers));
    let mut huge = batch(&spec, 1, 60, &mut numbers);
    huge.dense.fill(f32::MAX);
    job.hold(&huge);
    huge.batch = BatchId(2);
    job.hold(&huge);
    let before = job.digest();
    let mut refused = |commit: gearshift_types::Commit, scale: f32, message: &str| {
        let shard = &mut job.shards[0];
        let error = shard.apply(&commit, scale).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!((shard.version(), shard.held()), (Step(0), 3));
    };
    refused(commit(1, &[(0, 1.0)], 8), 1.0, "commit of step 1 came when step 0 was due");
    refused(commit(0, &[(0, 1.0), (7, 0.5)], 8), 1.0, "names batch 7, which this shard does not hold");
    refused(commit(0, &[(0, 1.0), (0, 1.0)], 8), 1.0, "batch 0 in the commit of step 0: expected once");
    refused(commit(0, &[(0, f32::NAN)], 8), 1.0, "weight of batch 0");
    refused(commit(0, &[(0, 1.5)], 8), 1.0, "weight of batch 0");
    refused(commit(0, &[(0, 1.0)], 0), 1.0, "divisor of the commit of step 0: expected at least 1 sample");
    refused(commit(0, &[(0, 1.0)], 8), f32::INFINITY, "scale of the commit of step 0");
    refused(commit(0, &[(1, 1.0), (2, 1.0)], 8), 1.0, "dense tensor deep.0.weight is not finite (inf)");
    assert_eq!(job.digest(), before);
    job.apply(&commit(0, &[(0, 1.0), (1, 0.0)], 8), 1.0);
    assert_ne!(job.digest(), before);
    assert_eq!(job.shards[0].held(), 1);
}

#[test]
fn sums_of_rows_that_overflow_are_refused() {
    let (spec, mut job) = (spec(), Job::new(&spec(), &options(OptimizerKind::Sgd), 1));
    let mut huge = batch(&spec, 0, 60, &mut Numbers(2));
    huge.tables[0].values.fill(f32::MAX);
    job.hold(&huge);
    huge.batch = BatchId(1);
    job.hold(&huge);
    let error = job.shards[0].apply(&commit(0, &[(0, 1.0), (1, 1.0)], 8), 1.0).unwrap_err();
    match &error {
        StoreError::NonFiniteSum { step: Step(0), what, .. } => {
            assert!(what.starts_with("table ads, key 0x"))
        }
        error => panic!("{error}"),
    }
    assert_eq!(job.shards[0].tables()[0].rows(), 0);
    // Alone it is finite.
    job.apply(&commit(0, &[(0, 1.0)], 8), 1.0);
}

#[test]
fn a_replaced_gradient_replaces_its_sum() {
    let spec = spec();
    let mut jobs = [job(), job()];
    let mut numbers = Numbers(8);
    let [first, second, other] = [0, 1, 1].map(|id| batch(&spec, id, 60, &mut numbers));
    let commit = commit(0, &[(0, 1.0), (1, 1.0)], 64);
    for push in [&first, &second] {
        jobs[0].hold(push);
    }
    jobs[0].squared_norm(&commit);
    jobs[0].hold(&other);
    for push in [&first, &other] {
        jobs[1].hold(push);
    }
    for job in &mut jobs {
        job.apply(&commit, 1.0);
    }
    assert_eq!(jobs[0].digest(), jobs[1].digest());
}

#[test]
fn shards_that_make_no_sense_are_not_built() {
    let build = |spec: &Arc<ModelSpec>, server| {
        let map = PartitionMap::new(2);
        let options = options(OptimizerKind::Adam);
        Shard::new(Arc::clone(spec), &options, map, ServerId(server), SEED).unwrap_err()
    };
    assert_eq!(build(&spec(), 2), BuildError::Server { server: ServerId(2), servers: 2 });
    let spoiled = |change: &dyn Fn(&mut ModelSpec)| {
        let mut spoiled = (*spec()).clone();
        change(&mut spoiled);
        build(&Arc::new(spoiled), 0).to_string()
    };
    let table = |segments| TableSpec { name: "ads".into(), segments };
    assert!(spoiled(&|spec| spec.tables[1] = table(vec![(1, Init::Zero)])).contains("two tables are called"));
    assert!(spoiled(&|spec| spec.tables[0] = table(Vec::new())).contains("vectors must have 1 to"));
    let wide = vec![(usize::MAX, Init::Zero), (2, Init::Zero)];
    assert!(spoiled(&|spec| spec.tables[0] = table(wide.clone())).contains("vectors must have 1 to"));
    let nan = vec![(1, Init::Normal { std: f32::NAN })];
    assert!(spoiled(&|spec| spec.tables[0] = table(nan.clone())).contains("standard deviation"));
    assert!(spoiled(&|spec| spec.dense[1].shape = vec![usize::MAX, 2]).contains("too large"));
    assert!(spoiled(&|spec| spec.dense[1].name = "deep.0.weight".into()).contains("two dense tensors"));
    let mut options = options(OptimizerKind::RowWiseAdagrad);
    options.dense = options.sparse.clone();
    let error = Shard::new(spec(), &options, PartitionMap::new(1), ServerId(0), 1).unwrap_err().to_string();
    assert!(error.contains("dense parameters have no rows"), "{error}");
}
