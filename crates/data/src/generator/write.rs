//! Writes generated parts in Criteo's format; read back they give the same features.

use std::io::{self, Write};

use super::hex;
use super::teacher::{Sample, Teacher};
use crate::options::GeneratorOptions;

/// Rows between two calls of the progress callback.
const PROGRESS_ROWS: u64 = 8192;

/// Writes part `part` as Criteo's tab-separated text (label, 13 integers, 26 categories of 8 hexadecimal digits) and
/// returns the number of rows. `progress` is called with the rows written so far, every few thousand and at the end.
///
/// # Errors
/// When `out` cannot be written, or the options do not have 13 dense features and 26 vocabularies.
pub fn write_criteo_tsv(
    options: &GeneratorOptions,
    seed: u64,
    part: u32,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> io::Result<u64> {
    if options.dense != 13 || options.vocabularies.len() != 26 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "Criteo's format has 13 dense and 26 categorical features, [data.generated] has dense = {} and {} \
                 vocabularies: set dense = 13 and 26 vocabularies",
                options.dense,
                options.vocabularies.len()
            ),
        ));
    }
    let teacher = Teacher::new(options, seed);
    let day = teacher.day(part);
    let mut sample = Sample::default();
    let mut text = Vec::with_capacity(PROGRESS_ROWS as usize * 320);
    for row in 0..options.samples_per_part {
        day.sample(row, &mut sample);
        text.push(if sample.clicked { b'1' } else { b'0' });
        for x in &sample.dense {
            write!(text, "\t{x}")?;
        }
        for &category in &sample.categories {
            text.push(b'\t');
            text.extend_from_slice(&hex(category));
        }
        text.push(b'\n');
        if (row + 1) % PROGRESS_ROWS == 0 {
            out.write_all(&text)?;
            text.clear();
            progress(row + 1);
        }
    }
    out.write_all(&text)?;
    progress(options.samples_per_part);
    Ok(options.samples_per_part)
}
