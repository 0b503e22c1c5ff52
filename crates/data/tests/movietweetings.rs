//! The real MovieTweetings set, when it is there: a header, a side table without one, patterns, pieces, times.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop on errors and say when they skip")]

use std::path::{Path, PathBuf};

use gearshift_data::hash::{EMPTY_KEY, key_of};
use gearshift_data::{DataOptions, DataSet, check, open};
use gearshift_types::{Batch, PartId};

const JOB: &str = r#"
kind = "delimited"
train = ["ratings_by_time.tsv.gz"]
split = { parts = 8, skip_rows = 1696 }

[delimited]
header = true
label = { column = "rating", at_least = 8 }
join = [{ name = "movies", file = "movies.dat.gz", delimiter = "::", columns = ["id", "title", "genres"], key = "id", on = "item" }]
feature = [
    { name = "user", column = "user" },
    { name = "movie", column = "item" },
    { name = "year", column = "movies.title", pattern = '\((\d{4})\)$' },
    { name = "genre1", column = "movies.genres", separator = "|", nth = 0, table = "genre" },
    { name = "genre2", column = "movies.genres", separator = "|", nth = 1, table = "genre" },
    { name = "genre3", column = "movies.genres", separator = "|", nth = 2, table = "genre" },
    { name = "genres", column = "movies.genres", separator = "|", kind = "multi", table = "genre", pooling = "mean" },
    { name = "hour", column = "ts", kind = "hour" },
    { name = "weekday", column = "ts", kind = "weekday" },
]
"#;

fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("GEARSHIFT_MOVIETWEETINGS").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/movietweetings100k");
    let folder = given.unwrap_or_else(usual);
    if folder.join("ratings_by_time.tsv.gz").is_file() {
        return Some(folder);
    }
    println!("skipped: {} has no ratings_by_time.tsv.gz; set GEARSHIFT_MOVIETWEETINGS", folder.display());
    None
}

fn read(set: &dyn DataSet, part: u32) -> Batch {
    let (mut reader, parser, mut all) = (set.open(PartId(part)).unwrap(), set.parser(), Batch::default());
    while let Some(raw) = reader.next_block().unwrap() {
        let parsed = parser.parse(&raw).unwrap();
        assert_eq!((parsed.bad_lines, parsed.first_bad), (0, vec![]));
        gearshift_data::append(&mut all, &parsed.batch, 0..parsed.batch.samples() as u32);
    }
    all
}

#[test]
fn all_rows_with_the_features_of_the_job() {
    let Some(folder) = folder() else { return };
    let mut options: DataOptions = toml::from_str(JOB).unwrap();
    options.split = None;
    assert_eq!(check(&options, &folder), Vec::<String>::new());
    let set = open(&options, &folder, 1).unwrap();
    assert_eq!(set.schema().tables, ["user", "movie", "year", "genre", "hour", "weekday"]);
    assert_eq!(set.parts(), ["ratings_by_time.tsv.gz"]);

    let all = read(set.as_ref(), 0);
    assert_eq!(all.samples(), 100_000);
    let clicks = all.labels.iter().sum::<f32>();
    assert!((clicks / 100_000.0 - 0.505).abs() < 0.0006, "{clicks}");
    let distinct = |feature: usize| {
        let mut keys = all.features[feature].values.clone();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    };
    assert_eq!((distinct(0), distinct(1), distinct(7), distinct(8)), (16_554, 10_506, 24, 7));
    // Every movie's title ends in its year.
    assert!(!all.features[2].values.contains(&EMPTY_KEY));
    // 12620, 2171847, 6, 1362062307: Thursday 2013-02-28, 14 h.
    assert_eq!(all.labels[0], 0.0);
    assert_eq!(all.features[0].values[0], key_of(b"12620"));
    assert_eq!(all.features[1].values[0], key_of(b"2171847"));
    assert_eq!((all.features[7].values[0], all.features[8].values[0]), (key_of(b"14"), key_of(b"3")));
    for row in 0..1000 {
        let bag = &all.features[6].values[all.features[6].range(row)];
        let pieces = [3, 4, 5].map(|feature: usize| all.features[feature].values[row]);
        for (at, piece) in pieces.into_iter().enumerate() {
            assert_eq!(bag.get(at).copied().unwrap_or(EMPTY_KEY), piece, "row {row}");
        }
    }
}

#[test]
fn equal_parts_after_the_first_rows() {
    let Some(folder) = folder() else { return };
    let options: DataOptions = toml::from_str(JOB).unwrap();
    let set = open(&options, &folder, 1).unwrap();
    assert_eq!(set.parts().len(), 8);
    assert_eq!(set.parts()[2], "part 3 of 8");
    let mut joined = Batch::default();
    for part in 0..8 {
        let rows = read(set.as_ref(), part);
        assert_eq!(rows.samples(), 12_288);
        gearshift_data::append(&mut joined, &rows, 0..12_288);
    }
    let whole = open(&DataOptions { split: None, ..options }, &folder, 1).unwrap();
    assert_eq!(joined, gearshift_data::slice(&read(whole.as_ref(), 0), 1696..100_000));
}
