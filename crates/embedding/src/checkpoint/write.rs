//! Writes a shard as one safetensors file, streaming, and says what was written.

use std::io::{self, Write};

use gearshift_types::{ServerId, Step};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::digest::{Digest, ShardDigest, TableDigest, dense_digest, row_digest, with_le_bytes};
use super::header::{FORMAT, VERSION};
use super::layout::{Content, Tensor, tensors};
use crate::shard::Shard;
use crate::table::Table;

/// What a checkpoint file holds, for the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSummary {
    /// Server that wrote it.
    pub server: ServerId,
    /// Servers of the job.
    pub servers: u32,
    /// Version of the shard.
    pub step: Step,
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub sha256: String,
    /// Row counts and digests, the same as [`Shard::digest`].
    pub digest: ShardDigest,
}

/// Bytes gathered before they are hashed and written.
const BUFFER_BYTES: usize = 1 << 18;

/// Rows asked for ahead of use.
const AHEAD: usize = 16;

impl Shard {
    /// Writes the shard as one safetensors file. Gradients held are not part of it.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write_checkpoint(&self, to: &mut dyn Write) -> io::Result<ShardSummary> {
        let rows: Vec<usize> = self.tables.iter().map(Table::rows).collect();
        let tensors = tensors(self, &rows, self.dense.values().len());
        let mut out = Out { to, buffer: Vec::with_capacity(BUFFER_BYTES), hash: Sha256::new(), bytes: 0 };
        out.put(&header(self, &tensors))?;
        let order: Vec<Vec<u32>> = self.tables.iter().map(Table::sorted_rows).collect();
        let mut digests = vec![Digest::default(); self.tables.len()];
        for tensor in &tensors {
            match tensor.content {
                Content::Keys { table } => out.keys(&self.tables[table], &order[table])?,
                Content::Rows { table, at, width } => {
                    // The vectors come first: hash the whole row while it is in the cache.
                    let digest = (at == 0).then(|| &mut digests[table]);
                    out.rows(&self.tables[table], &order[table], at, width, digest)?;
                }
                Content::Dense { slot } => {
                    let floats = slot.map_or(self.dense.values(), |slot| self.dense.slot(slot));
                    out.words(bytemuck::must_cast_slice(floats))?;
                }
            }
        }
        let (bytes, sha256) = out.finish()?;
        let tables = self.tables.iter().zip(digests).map(|(table, digest)| TableDigest {
            name: table.name().to_owned(),
            rows: table.rows() as u64,
            digest,
        });
        let digest = ShardDigest { tables: tables.collect(), dense: dense_digest(&self.dense) };
        let (server, servers, step) = (self.server, self.map.servers(), self.version);
        Ok(ShardSummary { server, servers, step, bytes, sha256, digest })
    }
}

/// Length and JSON, padded with spaces so that the tensors start aligned.
fn header(shard: &Shard, tensors: &[Tensor]) -> Vec<u8> {
    let mut entries = Map::new();
    let metadata = json!({
        "format": FORMAT,
        "version": VERSION,
        "server": shard.server.to_string(),
        "servers": shard.map.servers().to_string(),
        "step": shard.version.to_string(),
        "dense_start": shard.dense.range().start.to_string(),
    });
    entries.insert("__metadata__".to_owned(), metadata);
    let mut offset = 0;
    for tensor in tensors {
        let size = if tensor.dtype() == "U64" { 8 } else { 4 };
        let end = offset + tensor.shape.iter().product::<usize>() * size;
        let entry = json!({ "dtype": tensor.dtype(), "shape": tensor.shape, "data_offsets": [offset, end] });
        entries.insert(tensor.name.clone(), entry);
        offset = end;
    }
    let mut json = Value::Object(entries).to_string().into_bytes();
    json.resize(json.len().next_multiple_of(8), b' ');
    let mut header = (json.len() as u64).to_le_bytes().to_vec();
    header.append(&mut json);
    header
}

/// Buffers, hashes, counts.
struct Out<'a> {
    to: &'a mut dyn Write,
    buffer: Vec<u8>,
    hash: Sha256,
    bytes: u64,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.drain()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            self.pass(bytes)
        } else {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        }
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.pass(&buffer);
        buffer.clear();
        self.buffer = buffer;
        result
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        with_le_bytes(words, |bytes| self.put(bytes))
    }

    fn keys(&mut self, table: &Table, order: &[u32]) -> io::Result<()> {
        for (i, &row) in order.iter().enumerate() {
            ask_ahead(table, order, i);
            self.words(&table.words(row)[..2])?;
        }
        Ok(())
    }

    fn rows(
        &mut self,
        table: &Table,
        order: &[u32],
        at: usize,
        width: usize,
        mut digest: Option<&mut Digest>,
    ) -> io::Result<()> {
        for (i, &row) in order.iter().enumerate() {
            ask_ahead(table, order, i);
            if let Some(digest) = &mut digest {
                digest.add(row_digest(table, row));
            }
            self.words(bytemuck::must_cast_slice(&table.floats_at(row)[at..at + width]))?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<(u64, String)> {
        self.drain()?;
        self.to.flush()?;
        Ok((self.bytes, hex(&self.hash.finalize())))
    }
}

fn ask_ahead(table: &Table, order: &[u32], i: usize) {
    if let Some(&ahead) = order.get(i + AHEAD) {
        table.prefetch(ahead);
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
