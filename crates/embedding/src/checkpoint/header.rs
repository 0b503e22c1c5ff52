//! Reads the header of a checkpoint file, bounded and total.

use std::collections::HashMap;
use std::io::Read;

use gearshift_types::{PARTITIONS, ServerId, Step};
use safetensors::tensor::Metadata;

use super::error::CheckpointError;

/// `format` in the metadata.
pub(crate) const FORMAT: &str = "gearshift-shard";

/// `version` in the metadata.
pub(crate) const VERSION: &str = "1";

/// Longest header, as in the safetensors format.
const HEADER_BYTES_MAX: u64 = 100_000_000;

/// What the header of a checkpoint file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHeader {
    /// Server that wrote the file.
    pub server: ServerId,
    /// Servers of the job that wrote it.
    pub servers: u32,
    /// Version of the shard.
    pub step: Step,
    /// First float of the server's dense range.
    pub dense_start: usize,
    /// Tensors in the order of their bytes.
    pub tensors: Vec<TensorHeader>,
}

/// One tensor of a checkpoint file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorHeader {
    /// Name.
    pub name: String,
    /// Type, such as `F32`.
    pub dtype: String,
    /// Shape.
    pub shape: Vec<usize>,
}

/// Reads the header of a file of `len` bytes and checks it against `len`. `part` names the file in errors. The
/// reader is left at the first tensor.
///
/// # Errors
/// When reading fails or the header is not one of a checkpoint of this format.
pub fn read_header(part: &str, reader: &mut dyn Read, len: u64) -> Result<PartHeader, CheckpointError> {
    let length = |what, expected, got| CheckpointError::Length { part: part.to_owned(), what, expected, got };
    if len < 8 {
        return Err(length("header length", 8, len));
    }
    let mut bytes = [0; 8];
    read_exact(part, reader, &mut bytes)?;
    let header_len = u64::from_le_bytes(bytes);
    let limit = HEADER_BYTES_MAX.min(len - 8);
    if header_len > limit {
        return Err(length("header, at most", limit, header_len));
    }
    let mut json = Vec::new();
    reader.take(header_len).read_to_end(&mut json).map_err(|source| io(part, source))?;
    if json.len() as u64 != header_len {
        return Err(length("header", header_len, json.len() as u64));
    }
    let header = |reason: String| CheckpointError::Header { part: part.to_owned(), reason };
    let metadata: Metadata = serde_json::from_slice(&json).map_err(|error| header(error.to_string()))?;
    let data_len = metadata.data_len() as u64;
    if data_len != len - 8 - header_len {
        return Err(length("tensors", data_len, len - 8 - header_len));
    }
    let names = metadata.offset_keys().into_iter();
    let tensors = names.filter_map(|name| {
        let info = metadata.info(&name)?;
        let (dtype, shape) = (info.dtype.to_string(), info.shape.clone());
        Some(TensorHeader { name, dtype, shape })
    });
    let tensors = tensors.collect();
    let entries = Entries { part, entries: metadata.metadata().as_ref() };
    entries.expect("format", FORMAT)?;
    entries.expect("version", VERSION)?;
    let servers = entries.number("servers", 1..=u64::from(PARTITIONS))? as u32;
    let server = ServerId(entries.number("server", 0..=u64::from(servers) - 1)? as u32);
    let step = Step(entries.number("step", 0..=u64::MAX)?);
    let dense_start = entries.number("dense_start", 0..=usize::MAX as u64)? as usize;
    Ok(PartHeader { server, servers, step, dense_start, tensors })
}

struct Entries<'a> {
    part: &'a str,
    entries: Option<&'a HashMap<String, String>>,
}

impl Entries<'_> {
    fn get(&self, entry: &'static str) -> &str {
        self.entries.and_then(|entries| entries.get(entry)).map_or("nothing", String::as_str)
    }

    fn error(&self, entry: &'static str, expected: String) -> CheckpointError {
        let got = self.get(entry).to_owned();
        CheckpointError::Metadata { part: self.part.to_owned(), entry, expected, got }
    }

    fn expect(&self, entry: &'static str, expected: &str) -> Result<(), CheckpointError> {
        if self.get(entry) == expected { Ok(()) } else { Err(self.error(entry, expected.to_owned())) }
    }

    /// A number in `range`, written as the writer writes it.
    fn number(
        &self,
        entry: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, CheckpointError> {
        let text = self.get(entry);
        match text.parse::<u64>() {
            Ok(number) if range.contains(&number) && number.to_string() == text => Ok(number),
            _ => Err(self.error(entry, format!("a number from {} to {}", range.start(), range.end()))),
        }
    }
}

pub(crate) fn io(part: &str, source: std::io::Error) -> CheckpointError {
    CheckpointError::Io { part: part.to_owned(), source }
}

pub(crate) fn read_exact(part: &str, reader: &mut dyn Read, to: &mut [u8]) -> Result<(), CheckpointError> {
    reader.read_exact(to).map_err(|source| io(part, source))
}
