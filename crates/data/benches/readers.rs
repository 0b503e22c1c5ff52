//! Speed of reading, generating and indexing on one core, each with a plain peer from the same run.
//!
//! `cargo bench -p gearshift-data`; `-- --quick` for fewer rows.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops on errors"
)]

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use gearshift_data::{DataOptions, Indexer, check, gather, open, teacher_auc, write_criteo_tsv};
use gearshift_types::{Batch, IndexedBatch, PartId};

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rows: u64 = if quick { 50_000 } else { 400_000 };
    let folder = tempfile::tempdir().unwrap();
    let mut generated: DataOptions = toml::from_str("kind = \"generated\"").unwrap();
    generated.generated.samples_per_part = rows;
    println!("machine: {}; {rows} rows, seconds of CPU time, best of 3", machine());

    let mut text = Vec::new();
    let seconds = best(1, || write_criteo_tsv(&generated.generated, 1, 0, &mut text, &mut |_| ()).unwrap()).0;
    show("write_criteo_tsv", rows, text.len(), seconds);
    write_files(folder.path(), &text, quick);
    let (seconds, _) = best(3, || read(&generated, folder.path()));
    show("generate blocks", rows, 0, seconds);

    let (peer, sum) = best(3, || plain_parser(&text));
    show("peer: split, parse, default hasher", rows, text.len(), peer);
    let mut options: DataOptions = toml::from_str("kind = \"criteo\"\ntrain = [\"day.tsv\"]").unwrap();
    for ending in ["tsv", "tsv.gz", "tsv.zst"] {
        options.train =
            toml::from_str::<DataOptions>(&format!("kind = \"criteo\"\ntrain = [\"day.{ending}\"]"))
                .unwrap()
                .train;
        let (seconds, batches) = best(3, || read(&options, folder.path()));
        assert_eq!(
            batches.iter().flat_map(|batch| &batch.labels).map(|&label| f64::from(label)).sum::<f64>(),
            sum
        );
        show(&format!("read and parse .{ending} ({:.1} x peer)", peer / seconds), rows, text.len(), seconds);
    }
    options.train = toml::from_str::<DataOptions>("kind = \"criteo\"\ntrain = [\"day.tsv\"]").unwrap().train;
    options.shuffle = true;
    show("read and parse .tsv, shuffled", rows, text.len(), best(3, || read(&options, folder.path())).0);
    options.shuffle = false;
    options.criteo.integers = gearshift_data::options::NumericTransform::Bucket;
    show("read and parse .tsv, bucketed", rows, text.len(), best(3, || read(&options, folder.path())).0);
    bench_delimited(folder.path(), rows, text.len());
    bench_index(&generated, folder.path());
    let auc = teacher_auc(&generated.generated, 1, 0, 100_000);
    println!("teacher AUC of the defaults, seed 1, part 0: {auc:.4}");
}

fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    name.trim_start_matches([' ', '\t', ':']).to_owned()
}

fn show(what: &str, rows: u64, bytes: usize, seconds: f64) {
    let mb = if bytes == 0 { String::new() } else { format!("{:8.0} MB/s", bytes as f64 / seconds / 1e6) };
    println!("{what:46} {:9.0} rows/s {mb}", rows as f64 / seconds);
}

fn best<T>(tries: u32, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut once = || {
        let start = cpu_seconds();
        let result = run();
        (cpu_seconds() - start, result)
    };
    let mut best = once();
    for _ in 1..tries {
        let next = once();
        best = (best.0.min(next.0), next.1);
    }
    best
}

/// Time that this thread has been running (Linux), so that other work on the machine does not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn write_files(folder: &Path, text: &[u8], quick: bool) {
    std::fs::write(folder.join("day.tsv"), text).unwrap();
    let file = std::fs::File::create(folder.join("day.tsv.gz")).unwrap();
    let level = flate2::Compression::new(if quick { 1 } else { 6 });
    let mut encoder = flate2::write::GzEncoder::new(file, level);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap();
    let packed = ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest);
    std::fs::write(folder.join("day.tsv.zst"), packed).unwrap();
}

fn read(options: &DataOptions, base: &Path) -> Vec<Batch> {
    assert_eq!(check(options, base), Vec::<String>::new());
    let set = open(options, base, 1).unwrap();
    let (mut reader, parser, mut batches) = (set.open(PartId(0)).unwrap(), set.parser(), Vec::new());
    while let Some(raw) = reader.next_block().unwrap() {
        batches.push(parser.parse(&raw).unwrap().batch);
        if batches.len() > 100 {
            // Bounded, as in a run.
            let labels = std::mem::take(&mut batches[0].labels);
            batches.remove(0);
            batches[0].labels.extend(labels);
        }
    }
    batches
}

/// What a first version would do; returns the sum of the labels.
fn plain_parser(text: &[u8]) -> f64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut labels = 0.0;
    let (mut dense, mut keys) = (Vec::new(), vec![Vec::new(); 26]);
    for line in std::str::from_utf8(text).unwrap().lines() {
        let mut fields = line.split('\t');
        labels += fields.next().unwrap().parse::<f64>().unwrap();
        for field in fields.by_ref().take(13) {
            dense.push(field.parse::<f64>().unwrap_or(0.0).max(0.0).ln_1p() as f32);
        }
        for (field, column) in fields.zip(&mut keys) {
            let mut hasher = DefaultHasher::new();
            field.hash(&mut hasher);
            column.push(hasher.finish());
        }
    }
    std::hint::black_box((dense, keys));
    labels
}

fn bench_delimited(folder: &Path, rows: u64, bytes: usize) {
    let mut job =
        "kind = \"delimited\"\ntrain = [\"day.tsv\"]\n[delimited]\nlabel = { column = \"label\" }\n"
            .to_owned();
    let names: Vec<String> =
        (1..=13).map(|at| format!("I{at}")).chain((1..=26).map(|at| format!("C{at}"))).collect();
    job += &format!("columns = {:?}\n", [&["label".to_owned()], names.as_slice()].concat());
    for (at, name) in names.iter().enumerate() {
        let kind = if at < 13 { "numeric" } else { "categorical" };
        job += &format!("[[delimited.feature]]\nname = \"{name}\"\ncolumn = \"{name}\"\nkind = \"{kind}\"\n");
    }
    let options: DataOptions = toml::from_str(&job).unwrap();
    show("read and parse .tsv by schema", rows, bytes, best(3, || read(&options, folder)).0);
}

fn bench_index(generated: &DataOptions, base: &Path) {
    let set = open(generated, base, 1).unwrap();
    let (mut reader, parser) = (set.open(PartId(0)).unwrap(), set.parser());
    let mut blocks = Vec::new();
    while let Some(raw) = reader.next_block().unwrap().filter(|_| blocks.len() < 5) {
        blocks.push(parser.parse(&raw).unwrap().batch);
    }
    let features = &set.schema().features;
    for size in [256, 1024, 8192] {
        let batches: Vec<Batch> = (0..32_u32)
            .map(|at| {
                let from = at * 997 % 8000;
                gather(&[
                    (&blocks[at as usize % 4], from..8192.min(from + size)),
                    (&blocks[4], 0..size.saturating_sub(8192 - from)),
                ])
            })
            .collect();
        let mut indexer = Indexer::new();
        let index = |batch: &Batch, indexer: &mut Indexer| indexer.index(batch, features, features.len());
        let run =
            |indexer: &mut Indexer| batches.iter().map(|batch| index(batch, indexer)).collect::<Vec<_>>();
        // Many rounds, because the clock of CPU time is coarse.
        let rounds = 80_000 / size;
        let per_batch = |seconds: f64| seconds / (32.0 * f64::from(rounds)) * 1e6;
        let indexed = run(&mut indexer);
        let ours = best(3, || (0..rounds).for_each(|_| drop(std::hint::black_box(run(&mut indexer))))).0;
        let peer = || batches.iter().map(plain_index).collect::<Vec<_>>();
        let peer = best(1, || (0..rounds).for_each(|_| drop(std::hint::black_box(peer())))).0;
        let cut = || (0..32).map(|at| gather(&[(&blocks[at % 4], 0..size)])).collect::<Vec<_>>();
        let cut = best(3, || (0..rounds).for_each(|_| drop(std::hint::black_box(cut())))).0;
        let unique =
            indexed.iter().flat_map(|batch| &batch.tables).map(|table| table.keys.len()).sum::<usize>() / 32;
        println!(
            "index 26 x {size:4}: {:7.1} us per batch ({:.1} x a std HashMap), {unique} unique keys; gather {:.1} us",
            per_batch(ours),
            peer / ours,
            per_batch(cut)
        );
    }
}

fn plain_index(batch: &Batch) -> IndexedBatch {
    let mut indexed =
        IndexedBatch { labels: batch.labels.clone(), dense: batch.dense.clone(), ..Default::default() };
    for feature in &batch.features {
        let (mut map, mut keys) = (HashMap::new(), Vec::new());
        let mut position = |&key| {
            *map.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            })
        };
        let positions = feature.values.iter().map(&mut position).collect();
        indexed.features.push(gearshift_types::IndexedFeature { positions, offsets: None });
        let table = gearshift_types::TableId(0);
        indexed.tables.push(gearshift_types::TableKeys { table, keys: keys.into() });
    }
    indexed
}
