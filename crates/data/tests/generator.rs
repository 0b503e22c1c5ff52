//! Generated data: a function of the seed alone, and the same when it goes through a file.

mod support;

use std::collections::HashSet;

use gearshift_data::options::GeneratorOptions;
use gearshift_data::{DataOptions, check, open, teacher_auc, write_criteo_tsv};
use gearshift_types::PartId;
use support::{options, read, read_part};

fn generated(samples: u64) -> DataOptions {
    let mut options = options("kind = \"generated\"");
    options.generated.samples_per_part = samples;
    options
}

#[test]
fn seed_and_part_decide_and_block_size_does_not() {
    let base = std::path::Path::new("");
    let mut options = generated(5000);
    let whole = read(&options, base, 3).unwrap();
    assert_eq!(whole.block_rows, [5000]);
    options.block_rows = 700;
    let blocks = read(&options, base, 3).unwrap();
    assert_eq!(blocks.block_rows, [700, 700, 700, 700, 700, 700, 700, 100]);
    assert_eq!(blocks.rows, whole.rows);
    assert_ne!(read(&options, base, 2).unwrap().rows, whole.rows);
    let other_seed = open(&options, base, 8).unwrap();
    assert_ne!(read_part(other_seed.as_ref(), 3).unwrap().rows, whole.rows);
}

#[test]
fn any_block_can_be_made_by_itself() {
    let mut options = generated(3000);
    options.block_rows = 1000;
    let set = open(&options, "".as_ref(), 7).unwrap();
    let mut reader = set.open(PartId(1)).unwrap();
    let raws: Vec<_> = std::iter::from_fn(|| reader.next_block().unwrap()).collect();
    let parser = set.parser();
    let backwards: Vec<_> = raws.iter().rev().map(|raw| parser.parse(raw).unwrap().batch).collect();
    for (raw, batch) in raws.iter().zip(backwards.iter().rev()) {
        assert_eq!(&parser.parse(raw).unwrap().batch, batch);
    }
    assert_eq!(reader.position(), (3000, 3000));
}

#[test]
fn a_written_file_reads_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let options = generated(9000);
    let mut text = Vec::new();
    let mut calls = Vec::new();
    let rows = write_criteo_tsv(&options.generated, 7, 2, &mut text, &mut |rows| calls.push(rows)).unwrap();
    assert_eq!((rows, calls), (9000, vec![8192, 9000]));
    std::fs::write(folder.path().join("day.tsv"), &text).unwrap();
    let file = support::options("kind = \"criteo\"\ntrain = [\"day.tsv\"]");
    let from_file = read(&file, folder.path(), 0).unwrap();
    assert_eq!(from_file, read(&options, folder.path(), 2).unwrap());
    assert_eq!(
        open(&file, folder.path(), 7).unwrap().schema(),
        open(&options, folder.path(), 7).unwrap().schema()
    );

    let odd = GeneratorOptions { dense: 3, ..GeneratorOptions::default() };
    let error = write_criteo_tsv(&odd, 7, 0, &mut Vec::new(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("dense = 3"), "{error}");
}

#[test]
fn the_defaults_have_the_label_rate_and_auc_of_click_data() {
    let (mut rates, mut aucs) = (Vec::new(), Vec::new());
    for seed in 0..8 {
        let set = open(&generated(8000), "".as_ref(), seed).unwrap();
        let labels = read_part(set.as_ref(), 0).unwrap().rows.labels;
        rates.push(f64::from(labels.iter().sum::<f32>()) / labels.len() as f64);
        aucs.push(teacher_auc(&GeneratorOptions::default(), seed, 0, 8000));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    println!("label rates {rates:.3?}, AUC of the teacher {aucs:.4?}");
    assert!((0.25..0.30).contains(&mean(&rates)), "{rates:?}");
    assert!(rates.iter().all(|rate| (0.15..0.42).contains(rate)), "{rates:?}");
    assert!((0.80..0.87).contains(&mean(&aucs)), "{aucs:?}");
}

#[test]
fn ids_drift_and_are_replaced_one_by_one() {
    let mut options = generated(4000);
    options.generated.vocabularies = vec![50; 4];
    options.generated.zipf = 0.0;
    let keys = |options: &DataOptions, part: u32| -> HashSet<_> {
        read(options, "".as_ref(), part).unwrap().rows.features[0].values.iter().copied().collect()
    };
    options.generated.new_ids_every_parts = 0;
    let all = keys(&options, 0);
    assert_eq!(all.len(), 50);
    assert_eq!(all, keys(&options, 7));
    options.generated.new_ids_every_parts = 4;
    let kept = keys(&options, 0).intersection(&keys(&options, 1)).count();
    assert!((25..50).contains(&kept), "about 3 of 4 IDs stay from part to part, got {kept} of 50");
    assert_eq!(keys(&options, 0).intersection(&keys(&options, 4)).count(), 0);

    // Without drift the same IDs keep their effect, so the teacher's ranking of part 0 holds on part 6.
    let still = GeneratorOptions { drift: 0.0, new_ids_every_parts: 0, ..GeneratorOptions::default() };
    assert!((teacher_auc(&still, 1, 0, 20_000) - teacher_auc(&still, 1, 6, 20_000)).abs() < 0.02);
}

#[test]
fn options_out_of_range_are_all_named() {
    let mut options = generated(0);
    options.generated.vocabularies = vec![10, 0, 1 << 40];
    options.generated.zipf = f64::NAN;
    options.generated.drift = -1.0;
    options.generated.parts = 0;
    options.train = support::options("kind = \"criteo\"\ntrain = [\"x\"]").train;
    let found = check(&options, "".as_ref());
    for part in [
        "vocabularies[1] = 0",
        "vocabularies[2]",
        "zipf = NaN",
        "drift = -1",
        "parts = 0",
        "samples_per_part = 0",
        "does not use train",
    ] {
        assert!(found.iter().any(|problem| problem.contains(part)), "{part}: {found:#?}");
    }
    assert_eq!(found.len(), 7, "{found:#?}");
    assert!(open(&options, "".as_ref(), 1).is_err());
}
