//! Cutting, joining and indexing rows, over random batches.
#![expect(clippy::unwrap_used, reason = "tests stop on errors")]

use std::collections::HashSet;

use gearshift_data::{Indexer, append, gather, slice};
use gearshift_types::{Batch, FeatureSpec, IndexedBatch, Jagged, Key, Pooling, TableId};
use proptest::prelude::*;

/// Features 0 and 2 share table 1, feature 1 has table 0, feature 3 table 3; table 2 has none.
fn specs() -> Vec<FeatureSpec> {
    [1, 0, 1, 3]
        .into_iter()
        .enumerate()
        .map(|(at, table)| FeatureSpec {
            name: format!("f{at}"),
            table: TableId(table),
            pooling: Pooling::Sum,
        })
        .collect()
}

/// Up to 40 samples; features 0 and 1 with one value each, 2 and 3 with bags. Few different keys, so many repeat;
/// among them neighbours and multiples of 2^32, which collide in a bad table.
fn batches() -> impl Strategy<Value = Batch> {
    let key = prop_oneof![0..20_u64, (0..20_u64).prop_map(|x| x << 32), any::<u64>()].prop_map(Key);
    let bag = prop::collection::vec(key.clone(), 0..4);
    let sample = (any::<bool>(), [any::<i8>(), any::<i8>()], [key.clone(), key], [bag.clone(), bag]);
    prop::collection::vec(sample, 0..40).prop_map(|samples| {
        let mut batch = Batch { dense_width: 2, ..Batch::default() };
        batch.features = vec![Jagged::default(); 4];
        for feature in &mut batch.features[2..] {
            feature.offsets = Some(vec![0]);
        }
        for (label, dense, keys, bags) in samples {
            batch.labels.push(f32::from(u8::from(label)));
            batch.dense.extend(dense.map(f32::from));
            for (feature, key) in batch.features.iter_mut().zip(keys) {
                feature.values.push(key);
            }
            for (feature, bag) in batch.features[2..].iter_mut().zip(bags) {
                feature.values.extend(bag);
                feature.offsets.as_mut().unwrap().push(feature.values.len() as u32);
            }
        }
        batch
    })
}

fn expand(indexed: &IndexedBatch, specs: &[FeatureSpec]) -> Batch {
    let feature = |(feature, spec): (&gearshift_types::IndexedFeature, &FeatureSpec)| {
        let keys = &indexed.tables[usize::from(spec.table.0)].keys;
        let values = feature.positions.iter().map(|&position| keys[position as usize]).collect();
        Jagged { values, offsets: feature.offsets.clone() }
    };
    Batch {
        labels: indexed.labels.clone(),
        dense: indexed.dense.clone(),
        dense_width: indexed.dense_width,
        features: indexed.features.iter().zip(specs).map(feature).collect(),
    }
}

proptest! {
    #[test]
    fn indexing_then_expanding_gives_the_batch_back(all in prop::collection::vec(batches(), 1..5)) {
        let (mut indexer, specs) = (Indexer::new(), specs());
        for batch in &all {
            let indexed = indexer.index(batch, &specs, 4);
            prop_assert_eq!(&expand(&indexed, &specs), batch);
            prop_assert_eq!(indexed.tables.len(), 4);
            prop_assert!(indexed.tables[2].keys.is_empty());
            for (at, table) in indexed.tables.iter().enumerate() {
                prop_assert_eq!(usize::from(table.table.0), at);
                let mut seen = HashSet::new();
                let values = batch.features.iter().zip(&specs).filter(|(_, spec)| spec.table == table.table);
                let firsts: Vec<Key> =
                    values.flat_map(|(feature, _)| &feature.values).copied().filter(|&key| seen.insert(key)).collect();
                prop_assert_eq!(&table.keys[..], &firsts[..], "unique keys in order of first occurrence");
            }
        }
    }

    #[test]
    fn slices_put_together_give_the_batch_back(batch in batches(), cuts in prop::collection::vec(0..40_u32, 0..5)) {
        let rows = batch.samples() as u32;
        let mut cuts: Vec<u32> = cuts.into_iter().map(|cut| cut.min(rows)).chain([0, rows]).collect();
        cuts.sort_unstable();
        let ranges: Vec<_> = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let slices: Vec<Batch> = ranges.iter().map(|range| slice(&batch, range.clone())).collect();
        let pieces: Vec<_> = slices.iter().map(|part| (part, 0..part.samples() as u32)).collect();
        prop_assert_eq!(&gather(&pieces), &batch);
        let direct: Vec<_> = ranges.iter().map(|range| (&batch, range.clone())).collect();
        prop_assert_eq!(&gather(&direct), &batch);
        let mut appended = Batch::default();
        for part in &slices {
            append(&mut appended, part, 0..part.samples() as u32);
        }
        prop_assert_eq!(&appended, &batch);
    }

    #[test]
    fn a_slice_holds_its_rows(batch in batches(), start in 0..40_u32, len in 0..40_u32) {
        let rows = batch.samples() as u32;
        let start = start.min(rows);
        let end = (start + len).min(rows);
        let part = slice(&batch, start..end);
        prop_assert_eq!(part.samples() as u32, end - start);
        for row in start..end {
            let at = (row - start) as usize;
            let row = row as usize;
            prop_assert_eq!(part.labels[at], batch.labels[row]);
            prop_assert_eq!(&part.dense[at * 2..at * 2 + 2], &batch.dense[row * 2..row * 2 + 2]);
            for (new, old) in part.features.iter().zip(&batch.features) {
                prop_assert_eq!(&new.values[new.range(at)], &old.values[old.range(row)]);
            }
        }
    }
}

#[test]
fn one_value_features_join_bags() {
    let single = |keys: &[u64]| Jagged { values: keys.iter().copied().map(Key).collect(), offsets: None };
    let block = |feature: Jagged, rows| Batch {
        labels: vec![0.0; rows],
        features: vec![feature],
        ..Batch::default()
    };
    let bags = block(Jagged { values: vec![Key(7), Key(8)], offsets: Some(vec![0, 2, 2]) }, 2);
    let joined =
        gather(&[(&block(single(&[1, 2]), 2), 1..2), (&bags, 0..2), (&block(single(&[3]), 1), 0..1)]);
    assert_eq!(joined.features[0].values, [2, 7, 8, 3].map(Key));
    assert_eq!(joined.features[0].offsets, Some(vec![0, 1, 3, 3, 4]));
}

#[test]
fn a_large_batch_after_a_small_one_and_back() {
    let batch = |rows: u64| Batch {
        labels: vec![0.0; rows as usize],
        features: vec![Jagged { values: (0..rows).map(|row| Key(row / 2)).collect(), offsets: None }],
        ..Batch::default()
    };
    let spec = [FeatureSpec { name: "f".into(), table: TableId(0), pooling: Pooling::Sum }];
    let mut indexer = Indexer::new();
    for rows in [10, 100_000, 3, 0, 5000] {
        let indexed = indexer.index(&batch(rows), &spec, 1);
        assert_eq!(indexed.tables[0].keys.len() as u64, rows.div_ceil(2));
        assert_eq!(expand(&indexed, &spec), batch(rows));
    }
}

#[test]
#[should_panic(expected = "offsets of feature f")]
fn offsets_that_do_not_ascend_are_refused() {
    let feature = Jagged { values: vec![Key(1); 3], offsets: Some(vec![0, 5, 3]) };
    let batch = Batch { labels: vec![0.0; 2], features: vec![feature], ..Batch::default() };
    let spec = [FeatureSpec { name: "f".into(), table: TableId(0), pooling: Pooling::Sum }];
    let _ = Indexer::new().index(&batch, &spec, 1);
}
