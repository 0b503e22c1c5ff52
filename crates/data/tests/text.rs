//! Reading text files in Criteo's format: packing, line ends, blocks, parts, bad lines, broken files.
#![expect(clippy::unwrap_used, reason = "tests stop on errors")]

mod support;

use std::path::Path;

use gearshift_data::hash::{EMPTY_KEY, key_of, key_of_number};
use gearshift_data::options::{OnBadLine, SplitOptions};
use gearshift_data::{BadLineLimit, DataError, DataOptions, check, open, slice};
use support::{Read, criteo_lines, gzip, options, read, read_part, zstd};

fn criteo(train: &str) -> DataOptions {
    options(&format!("kind = \"criteo\"\ntrain = {train}"))
}

fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn read_text(text: &[u8]) -> Read {
    read(&criteo("[\"a.tsv\"]"), folder_with(&[("a.tsv", text)]).path(), 0).unwrap()
}

fn message(result: Result<Read, DataError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn the_fields_of_a_line() {
    let all = read_text(criteo_lines(50).as_bytes()).rows;
    assert_eq!((all.samples(), all.dense_width, all.features.len()), (50, 13, 26));
    assert_eq!(all.labels[..4], [1.0, 0.0, 0.0, 1.0]);
    for row in 0..50_u32 {
        for at in 0..13_u32 {
            let x = if (row + at) % 5 == 0 { 0 } else { row * at };
            assert_eq!(all.dense[(row * 13 + at) as usize], f64::from(x).ln_1p() as f32);
        }
        for at in 0..26_u32 {
            let key = if (row + at) % 7 == 0 {
                EMPTY_KEY
            } else {
                key_of(format!("{:08x}", row * 31 + at).as_bytes())
            };
            assert_eq!(all.features[at as usize].values[row as usize], key);
        }
    }
}

#[test]
fn integers_raw_or_in_buckets() {
    let folder = folder_with(&[("a.tsv", criteo_lines(40).replace("\t12\t", "\t-3\t").as_bytes())]);
    let log = read(&criteo("[\"a.tsv\"]"), folder.path(), 0).unwrap().rows;
    let mut options = criteo("[\"a.tsv\"]\ncriteo = { integers = \"raw\" }");
    let raw = read(&options, folder.path(), 0).unwrap().rows;
    assert!(raw.dense.contains(&-3.0) && log.dense.iter().all(|&x| x >= 0.0));
    options.criteo.integers = gearshift_data::options::NumericTransform::Bucket;
    let set = open(&options, folder.path(), 1).unwrap();
    assert_eq!(
        (set.schema().dense.len(), set.schema().features.len(), set.schema().tables.len()),
        (0, 39, 39)
    );
    assert_eq!((set.schema().tables[0].as_str(), set.schema().tables[13].as_str()), ("I1", "C1"));
    let buckets = read(&options, folder.path(), 0).unwrap().rows;
    assert_eq!((buckets.dense_width, buckets.dense.len()), (0, 0));
    assert_eq!(buckets.features[13..], log.features[..]);
    for row in 0..40 {
        for at in 0..13 {
            let key = if (row + at) % 5 == 0 {
                EMPTY_KEY
            } else {
                key_of_number(f64::from(raw.dense[row * 13 + at]))
            };
            assert_eq!(buckets.features[at].values[row], key);
        }
    }
}

#[test]
fn packing_line_ends_and_marks_do_not_change_the_rows() {
    let text = criteo_lines(3000);
    let expected = read_text(text.as_bytes());
    assert_eq!(expected.rows.samples(), 3000);
    let (first, second) = text.split_at(100_001);
    let members = [gzip(first.as_bytes()), gzip(b""), gzip(second.as_bytes())].concat();
    let skippable = [b"\x52\x2A\x4D\x18".as_slice(), &5_u32.to_le_bytes(), b"hello"].concat();
    let frames = [zstd(first.as_bytes()), skippable, zstd(second.as_bytes())].concat();
    // One raw block in a frame with a single segment and a 2-byte size (RFC 8878, 3.1.1).
    let (few, rest) = text.split_at(20_000);
    let mut stored = b"\x28\xB5\x2F\xFD\x60".to_vec();
    stored.extend(((few.len() - 256) as u16).to_le_bytes());
    stored.extend(&((few.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    stored.extend(few.as_bytes());
    stored.extend(zstd(rest.as_bytes()));
    let dos = text.replace('\n', "\r\n");
    let cases: [(&str, Vec<u8>); 8] = [
        ("a.tsv.gz", gzip(text.as_bytes())),
        ("a.tsv.gz", members),
        ("a.tsv.zst", zstd(text.as_bytes())),
        ("a.tsv.zst", frames),
        ("a.tsv.zst", stored),
        ("a.tsv", dos.into_bytes()),
        ("a.tsv", text.trim_end_matches('\n').as_bytes().to_vec()),
        ("a.tsv", ["\u{FEFF}", &text].concat().into_bytes()),
    ];
    for (at, (name, bytes)) in cases.into_iter().enumerate() {
        let folder = folder_with(&[(name, &bytes)]);
        let got = read(&criteo(&format!("[\"{name}\"]")), folder.path(), 0).unwrap();
        assert!(got == expected, "case {at}");
    }
}

#[test]
fn block_size_does_not_change_the_rows_and_a_shuffle_only_their_order() {
    let folder = folder_with(&[("a.tsv", criteo_lines(1000).as_bytes())]);
    let mut options = criteo("[\"a.tsv\"]");
    let whole = read(&options, folder.path(), 0).unwrap();
    for (block_rows, blocks) in [(1, 1000), (7, 143), (999, 2), (1000, 1), (1001, 1)] {
        options.block_rows = block_rows;
        let got = read(&options, folder.path(), 0).unwrap();
        assert_eq!((got.block_rows.len(), &got.rows), (blocks, &whole.rows));
    }
    options.block_rows = 400;
    options.shuffle = true;
    let mixed = read(&options, folder.path(), 0).unwrap();
    assert_eq!(mixed, read(&options, folder.path(), 0).unwrap());
    for rows in [0..400, 400..800, 800..1000] {
        let keys = |read: &Read| {
            let mut keys = slice(&read.rows, rows.clone()).features[25].values.clone();
            keys.sort_unstable();
            keys
        };
        assert_ne!(slice(&mixed.rows, rows.clone()), slice(&whole.rows, rows.clone()));
        assert_eq!(keys(&mixed), keys(&whole));
    }
}

#[test]
fn parts_of_several_files_and_an_evaluation_set() {
    let text = criteo_lines(90);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let folder = folder_with(&[
        ("a.tsv", lines[..40].concat().as_bytes()),
        ("b.tsv.gz", &gzip(lines[40..70].concat().as_bytes())),
        ("c.tsv", lines[70..].concat().trim_end_matches('\n').as_bytes()),
    ]);
    let mut options = criteo("[\"c.tsv\", [\"a.tsv\", \"b.tsv.gz\"]]\nevaluate = [\"c.tsv\", \"a.tsv\"]");
    options.block_rows = 25;
    let whole = read_text(text.as_bytes()).rows;
    let set = open(&options, folder.path(), 7).unwrap();
    assert_eq!(set.parts(), ["c.tsv", "a.tsv and 1 more"]);
    assert_eq!(read_part(set.as_ref(), 0).unwrap().rows, slice(&whole, 70..90));
    let second = read_part(set.as_ref(), 1).unwrap();
    assert_eq!((second.block_rows, second.rows), (vec![25, 15, 25, 5], slice(&whole, 0..70)));
    assert!(set.has_evaluation());
    assert_eq!(read_part(set.as_ref(), u32::MAX).unwrap().rows.samples(), 60);
    assert!(set.open(gearshift_types::PartId(2)).err().unwrap().to_string().contains("2 parts"));
    options.evaluate.clear();
    let set = open(&options, folder.path(), 7).unwrap();
    assert!(!set.has_evaluation() && set.open_evaluation().is_err());
}

#[test]
fn equal_parts_over_all_files() {
    // More rows than the 65,536 between two marks, so that parts start at marks in the middle of files.
    let text = criteo_lines(150_000);
    let cut = text.match_indices('\n').nth(139_999).unwrap().0 + 1;
    for packed in [false, true] {
        let last = if packed { gzip(&text.as_bytes()[cut..]) } else { text.as_bytes()[cut..].to_vec() };
        let name = if packed { "b.tsv.gz" } else { "b.tsv" };
        let folder = folder_with(&[("a.tsv", &text.as_bytes()[..cut]), (name, &last)]);
        let mut options = criteo(&format!("[\"a.tsv\", \"{name}\"]"));
        let whole = read_text(text.as_bytes()).rows;
        options.split = Some(SplitOptions { parts: 3, rows_per_part: None, skip_rows: 100 });
        let counted = open(&options, folder.path(), 7).unwrap();
        options.split = Some(SplitOptions { parts: 3, rows_per_part: Some(49_966), skip_rows: 100 });
        let given = open(&options, folder.path(), 7).unwrap();
        for part in 0..3 {
            let start = 100 + part * 49_966;
            let rows = read_part(counted.as_ref(), part).unwrap();
            assert_eq!(rows.rows, slice(&whole, start..start + 49_966));
            assert_eq!(rows, read_part(given.as_ref(), part).unwrap());
        }
        options.split = Some(SplitOptions { parts: 4, rows_per_part: Some(49_966), skip_rows: 100 });
        let error = message(read(&options, folder.path(), 3));
        assert!(
            error.contains("end before part 4 is complete") && error.contains("rows_per_part"),
            "{error}"
        );
        options.split = Some(SplitOptions { parts: 3, rows_per_part: None, skip_rows: 149_999 });
        assert!(message(read(&options, folder.path(), 0)).contains("hold 150000 rows, too few"));
    }
}

#[test]
fn line_numbers_hold_inside_a_split() {
    let mut text = criteo_lines(20);
    text += "bad\n";
    text += &criteo_lines(9);
    let folder = folder_with(&[("a.tsv", text.as_bytes())]);
    let mut options = criteo("[\"a.tsv\"]\nsplit = { parts = 3 }");
    options.block_rows = 4;
    let third = read(&options, folder.path(), 2).unwrap();
    assert_eq!((third.bad_lines, third.first_bad[0].line, third.rows.samples()), (1, 21, 9));
}

#[test]
fn bad_lines_are_left_out_counted_and_explained() {
    let good = criteo_lines(1);
    let good = good.trim_end();
    let cases: [(Vec<u8>, &str); 8] = [
        (b"".to_vec(), "empty line"),
        (b"1\t2\t3".to_vec(), "expected 40 columns separated by tabs, got 3: \"1\\t2\\t3\""),
        ([good, "\tx"].concat().into_bytes(), "got 41"),
        (good.replacen('1', "2", 1).into_bytes(), "expected the label 0 or 1 in column 1, got \"2\""),
        (good.replacen("1\t", "\t", 1).into_bytes(), "expected the label 0 or 1 in column 1, got \"\""),
        (
            good.replacen("\t0\t", "\t1x\t", 1).into_bytes(),
            "expected a number or nothing in column 3 (I2), got \"1x\"",
        ),
        (b"\xFF\xFE\x00\x01".to_vec(), "got 1"),
        (vec![b'x'; (16 << 20) + 1], "line of 16777217 bytes"),
    ];
    let mut text = good.as_bytes().to_vec();
    for (line, _) in &cases {
        text.push(b'\n');
        text.extend(line);
        text.push(b'\n');
        text.extend(good.as_bytes());
    }
    let folder = folder_with(&[("a.tsv", &text)]);
    let mut options = criteo("[\"a.tsv\"]");
    options.block_rows = 5;
    let got = read(&options, folder.path(), 0).unwrap();
    assert_eq!((got.rows.samples(), got.bad_lines), (9, 8));
    for (at, (bad, (_, reason))) in got.first_bad.iter().zip(&cases).enumerate() {
        assert_eq!(
            (bad.line, bad.file.as_path()),
            (2 + 2 * at as u64, folder.path().join("a.tsv").as_path())
        );
        assert!(bad.reason.contains(reason) && bad.reason.len() < 300, "{} should say {reason}", bad.reason);
    }
    options.on_bad_line = OnBadLine::Stop;
    let error = message(read(&options, folder.path(), 0));
    assert!(error.ends_with("a.tsv:2: empty line; expected a sample"), "{error}");
}

#[test]
fn lines_around_the_length_limit() {
    for (bytes, bad) in [
        (16 << 20, "got 1"),
        ((16 << 20) + 1, "line of 16777217 bytes"),
        (40 << 20, "line of 41943040 bytes"),
    ] {
        let text = [vec![b'y'; bytes], b"\n".to_vec(), criteo_lines(2).into_bytes()].concat();
        let got = read_text(&text);
        assert_eq!((got.rows.samples(), got.bad_lines, got.first_bad[0].line), (2, 1, 1));
        assert!(got.first_bad[0].reason.contains(bad), "{}", got.first_bad[0].reason);
        let unended = [criteo_lines(2).into_bytes(), vec![b'y'; bytes]].concat();
        let got = read_text(&unended);
        assert_eq!((got.rows.samples(), got.bad_lines, got.first_bad[0].line), (2, 1, 3));
    }
}

#[test]
fn too_many_bad_lines_end_the_job_after_a_thousand() {
    let mut text = "oops\n".repeat(15);
    text += &criteo_lines(2000);
    let folder = folder_with(&[("a.tsv", text.as_bytes())]);
    let mut options = criteo("[\"a.tsv\"]");
    options.block_rows = 500;
    let set = open(&options, folder.path(), 1).unwrap();
    let (mut reader, parser) = (set.open(Default::default()).unwrap(), set.parser());
    let mut limit = BadLineLimit::new(options.bad_line_share_max);
    let mut outcomes = Vec::new();
    while let Some(raw) = reader.next_block().unwrap() {
        outcomes.push(limit.add(&parser.parse(&raw).unwrap()).map_err(|error| error.to_string()));
    }
    assert_eq!(outcomes[0], Ok(()), "fewer than 1000 lines");
    let error = outcomes[1].clone().unwrap_err();
    assert!(
        error.starts_with("15 of 1000 lines are bad") && error.contains("a.tsv:1: expected 40 columns"),
        "{error}"
    );
    assert_eq!(outcomes[2..], [Ok(()), Ok(()), Ok(())], "15 of 1500 is not more than 1 %");
    assert_eq!((limit.read(), limit.bad(), limit.first().len()), (2015, 15, 10));
}

#[test]
fn broken_files_are_named_with_advice() {
    let text = criteo_lines(5000);
    let (gz, zst) = (gzip(text.as_bytes()), zstd(text.as_bytes()));
    let mut flipped = gz.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    let mut checksum = zst.clone();
    *checksum.last_mut().unwrap() ^= 1;
    let cases: [(&str, &[u8], &str); 8] = [
        ("a.gz", &gz[..gz.len() / 2], "cut off"),
        ("a.gz", &gz[..gz.len() - 3], "cut off"),
        ("a.gz", &flipped, "unpacking gzip failed near line"),
        ("a.gz", text.as_bytes(), "corrupt or not gzip data"),
        ("a.zst", &zst[..zst.len() / 2], "cut off"),
        ("a.zst", &checksum, "checksum"),
        ("a.zst", text.as_bytes(), "corrupt or not Zstandard data"),
        ("a.tsv", &gz, "give its name the ending .gz"),
    ];
    for (at, (name, bytes, expected)) in cases.into_iter().enumerate() {
        let folder = folder_with(&[(name, bytes)]);
        let error = message(read(&criteo(&format!("[\"{name}\"]")), folder.path(), 0));
        assert!(error.contains(expected) && error.contains(name), "case {at}: {error} should say {expected}");
    }
}

#[test]
fn what_is_missing_is_listed_at_once() {
    let folder = folder_with(&[("a.tsv", b"")]);
    std::fs::create_dir(folder.path().join("days")).unwrap();
    let options = options(
        "kind = \"criteo\"\ntrain = [\"a.tsv\", \"b.tsv\", \"days\", []]\nevaluate = [\"no/c.tsv\"]\nblock_rows = 0\n\
         bad_line_share_max = 2.0\nsplit = { parts = 0 }\ngenerated = { parts = 3 }",
    );
    let found = check(&options, folder.path());
    for part in [
        "block_rows = 0",
        "bad_line_share_max = 2",
        "split: parts = 0",
        "does not use [data.generated]",
        "train[3] is an empty list",
        "b.tsv: no such file",
        "days: this is a folder",
        "does not exist either",
    ] {
        assert!(found.iter().any(|problem| problem.contains(part)), "{part}: {found:#?}");
    }
    assert_eq!(found.len(), 8, "{found:#?}");
    assert!(check(&criteo("[]"), Path::new("")).iter().any(|problem| problem.contains("needs train")));
}

#[test]
fn the_folder_is_relative_to_the_job_file() {
    let folder = folder_with(&[]);
    std::fs::create_dir(folder.path().join("days")).unwrap();
    std::fs::write(folder.path().join("days/a.tsv"), criteo_lines(3)).unwrap();
    let got = read(&criteo("[\"a.tsv\"]\nfolder = \"days\""), folder.path(), 0).unwrap();
    assert_eq!(got.rows.samples(), 3);
}

#[test]
fn an_empty_file_has_no_blocks() {
    for (name, bytes) in
        [("a.tsv", vec![]), ("a.gz", gzip(b"")), ("a.zst", zstd(b"")), ("a.tsv", b"\xEF\xBB\xBF".to_vec())]
    {
        let got = read(&criteo(&format!("[\"{name}\"]")), folder_with(&[(name, &bytes)]).path(), 0).unwrap();
        assert_eq!(got, Read::default());
    }
}
