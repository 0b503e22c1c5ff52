//! Shared by the tests: options from text, files, reading everything.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "tests stop on errors and use what they need"
)]

use std::io::Write;
use std::path::Path;

use gearshift_data::{BadLine, DataError, DataOptions, DataSet, open};
use gearshift_types::{Batch, PartId};

/// Options from the text of `[data]`.
pub fn options(text: &str) -> DataOptions {
    toml::from_str(text).unwrap()
}

/// Everything of one part.
#[derive(Debug, Default, PartialEq)]
pub struct Read {
    pub rows: Batch,
    pub block_rows: Vec<usize>,
    pub bad_lines: u64,
    pub first_bad: Vec<BadLine>,
}

/// Opens and reads part `part`.
pub fn read(options: &DataOptions, base: &Path, part: u32) -> Result<Read, DataError> {
    read_part(open(options, base, 7)?.as_ref(), part)
}

/// Reads part `part`; `u32::MAX` for the evaluation set.
pub fn read_part(set: &dyn DataSet, part: u32) -> Result<Read, DataError> {
    let mut reader = if part == u32::MAX { set.open_evaluation()? } else { set.open(PartId(part))? };
    let (parser, mut all) = (set.parser(), Read::default());
    while let Some(raw) = reader.next_block()? {
        assert_eq!(raw.part, PartId(part));
        assert_eq!(raw.block as usize, all.block_rows.len());
        if !raw.text.is_empty() {
            assert_eq!(raw.text.iter().filter(|&&byte| byte == b'\n').count(), raw.lines as usize);
            assert_eq!(raw.text.last(), Some(&b'\n'));
        }
        let parsed = parser.parse(&raw)?;
        all.block_rows.push(parsed.batch.samples());
        gearshift_data::append(&mut all.rows, &parsed.batch, 0..parsed.batch.samples() as u32);
        all.bad_lines += parsed.bad_lines;
        all.first_bad.extend(parsed.first_bad);
    }
    let (done, total) = reader.position();
    assert_eq!(done, total, "progress at the end");
    Ok(all)
}

/// Text packed as one gzip member.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Text packed as one Zstandard frame.
pub fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// `rows` lines in Criteo's format, different from each other, some fields empty.
pub fn criteo_lines(rows: u32) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text += if row % 3 == 0 { "1" } else { "0" };
        for at in 0..13 {
            text += &if (row + at) % 5 == 0 { "\t".to_owned() } else { format!("\t{}", row * at) };
        }
        for at in 0..26 {
            text += &if (row + at) % 7 == 0 { "\t".to_owned() } else { format!("\t{:08x}", row * 31 + at) };
        }
        text.push('\n');
    }
    text
}
