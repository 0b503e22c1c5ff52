//! Restores a shard from the files of any number of servers: keeps what the shard owns. Streams; memory beyond
//! the shard itself is 4 bytes per row of one file and small buffers.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use gearshift_types::{Key, ModelSpec, PartitionMap, ServerId, Step, TableId};
use sha2::{Digest as _, Sha256};

use super::error::CheckpointError;
use super::header::{PartHeader, io, read_exact, read_header};
use super::layout::{Content, DENSE_SLOT_PREFIX, Tensor, keys_name, slot_prefix, tensors};
use super::write::hex;
use crate::index::NONE;
use crate::optimizer::SlotSpec;
use crate::options::UpdateOptions;
use crate::shard::Shard;
use crate::table::Table;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// What was read of one file, to compare with the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSummary {
    /// Server that wrote it.
    pub server: ServerId,
    /// Servers of the job that wrote it.
    pub servers: u32,
    /// Version of the shard.
    pub step: Step,
    /// Bytes read, which is the whole file.
    pub bytes: u64,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub sha256: String,
}

/// A shard in the making: give it every part, then [`Restore::finish`].
#[derive(Debug)]
pub struct Restore {
    shard: Shard,
    /// Servers and step of the job that wrote the parts.
    written_by: Option<(u32, Step)>,
    seen: BTreeSet<ServerId>,
    refused: bool,
}

impl Restore {
    /// Starts with an empty shard; the arguments are those of [`Shard::new`]. The job may run on another number
    /// of servers than the one that wrote the checkpoint.
    ///
    /// # Errors
    /// As [`Shard::new`].
    pub fn new(
        spec: Arc<ModelSpec>,
        options: &UpdateOptions,
        map: PartitionMap,
        server: ServerId,
        seed: u64,
    ) -> Result<Self, CheckpointError> {
        let shard = Shard::new(spec, options, map, server, seed)?;
        Ok(Self { shard, written_by: None, seen: BTreeSet::new(), refused: false })
    }

    /// Whether a file of `server`, one of `servers`, holds anything of this shard; others need not be read.
    #[must_use]
    pub fn needs(&self, server: ServerId, servers: u32) -> bool {
        let theirs = PartitionMap::new(servers).partitions_of(server);
        let ours = self.shard.map.partitions_of(self.shard.server);
        server.0 < servers && theirs.start < ours.end && ours.start < theirs.end
    }

    /// Reads one file of `len` bytes; `part` names it in errors. Trust the shard only when the SHA-256 given
    /// back is the manifest's.
    ///
    /// # Errors
    /// When the bytes are not a whole checkpoint file of this model, optimizer and checkpoint; every later call
    /// fails then.
    pub fn part(
        &mut self,
        part: &str,
        reader: &mut dyn Read,
        len: u64,
    ) -> Result<PartSummary, CheckpointError> {
        if self.refused {
            return Err(CheckpointError::Refused);
        }
        self.refused = true;
        let mut reader = Hashing { from: reader, hash: Sha256::new() };
        let header = read_header(part, &mut reader, len)?;
        self.check_source(part, &header)?;
        let tensors = self.check_tensors(part, &header)?;
        let tables = self.shard.tables.len();
        let mut filling = Filling { part, header: &header, shard: &mut self.shard, rows: vec![None; tables] };
        for tensor in &tensors {
            filling.tensor(tensor, &mut reader)?;
        }
        if reader.read(&mut [0]).map_err(|source| io(part, source))? != 0 {
            let (part, what) = (part.to_owned(), "file, from its header");
            return Err(CheckpointError::Length { part, what, expected: len, got: len + 1 });
        }
        let (server, servers, step) = (header.server, header.servers, header.step);
        self.written_by = Some((servers, step));
        self.seen.insert(server);
        self.refused = false;
        let sha256 = hex(&reader.hash.finalize());
        Ok(PartSummary { server, servers, step, bytes: len, sha256 })
    }

    /// The shard, at the step of the checkpoint.
    ///
    /// # Errors
    /// When the files read do not cover all that the shard owns.
    pub fn finish(mut self) -> Result<Shard, CheckpointError> {
        if self.refused {
            return Err(CheckpointError::Refused);
        }
        let list = |servers: &BTreeSet<ServerId>| {
            let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
            if names.is_empty() { "no server".to_owned() } else { names.join(", ") }
        };
        let got = list(&self.seen);
        let Some((servers, step)) = self.written_by else {
            return Err(CheckpointError::Coverage { expected: "the checkpoint".to_owned(), got });
        };
        let map = PartitionMap::new(servers);
        let needed: BTreeSet<ServerId> =
            self.shard.map.partitions_of(self.shard.server).map(|owned| map.server_of(owned)).collect();
        if !needed.is_subset(&self.seen) {
            return Err(CheckpointError::Coverage { expected: list(&needed), got });
        }
        self.shard.version = step;
        Ok(self.shard)
    }

    /// All parts come from one checkpoint, each once, and its dense range is where it belongs.
    fn check_source(&self, part: &str, header: &PartHeader) -> Result<(), CheckpointError> {
        let error = |entry, expected: String, got: String| {
            Err(CheckpointError::Metadata { part: part.to_owned(), entry, expected, got })
        };
        if let Some((servers, step)) = self.written_by {
            if header.servers != servers {
                return error("servers", servers.to_string(), header.servers.to_string());
            }
            if header.step != step {
                return error("step", step.to_string(), header.step.to_string());
            }
        }
        if self.seen.contains(&header.server) {
            return error("server", "a server not read yet".to_owned(), header.server.to_string());
        }
        let start = dense_range(&self.shard, header).start;
        if header.dense_start != start {
            return error("dense_start", start.to_string(), header.dense_start.to_string());
        }
        Ok(())
    }

    /// The file has exactly the tensors of this model and optimizer; gives them in the order of their bytes.
    fn check_tensors(&self, part: &str, header: &PartHeader) -> Result<Vec<Tensor>, CheckpointError> {
        let error = |tensor: &str, expected: String, got: String| CheckpointError::Tensor {
            part: part.to_owned(),
            tensor: tensor.to_owned(),
            expected,
            got,
        };
        self.check_slots(part, header)?;
        let mut rows = Vec::new();
        for table in &self.shard.tables {
            let name = keys_name(table.name());
            let found = header.tensors.iter().find(|tensor| tensor.name == name);
            let shape = found.map_or(&[][..], |found| &found.shape);
            let &[count] = shape else {
                let got = found.map_or("nothing".to_owned(), |_| format!("{shape:?}"));
                return Err(error(&name, "one axis".to_owned(), got));
            };
            if table.rows().saturating_add(count) >= NONE as usize {
                return Err(error(&name, format!("fewer than {NONE} rows"), format!("{count} more")));
            }
            rows.push(count);
        }
        let mut expected = tensors(&self.shard, &rows, dense_range(&self.shard, header).len());
        let mut in_order = Vec::new();
        for found in &header.tensors {
            let got = format!("{} {:?}", found.dtype, found.shape);
            let Some(at) = expected.iter().position(|tensor| tensor.name == found.name) else {
                return Err(error(&found.name, "no such tensor in this model".to_owned(), got));
            };
            let tensor = expected.swap_remove(at);
            if found.dtype != tensor.dtype() || found.shape != tensor.shape {
                return Err(error(&found.name, format!("{} {:?}", tensor.dtype(), tensor.shape), got));
            }
            in_order.push(tensor);
        }
        match expected.first() {
            None => Ok(in_order),
            Some(missing) => {
                let expected = format!("{} {:?}", missing.dtype(), missing.shape);
                Err(error(&missing.name, expected, "nothing".to_owned()))
            }
        }
    }

    fn check_slots(&self, part: &str, header: &PartHeader) -> Result<(), CheckpointError> {
        let check = |of: String, prefix: &str, slots: &[SlotSpec]| {
            let expected: BTreeSet<&str> = slots.iter().map(|slot| slot.name).collect();
            let names = header.tensors.iter().filter_map(|tensor| tensor.name.strip_prefix(prefix));
            let got: BTreeSet<&str> = names.collect();
            if got == expected {
                return Ok(());
            }
            let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
            let (part, expected, got) = (part.to_owned(), list(expected), list(got));
            Err(CheckpointError::Slots { part, of, expected, got })
        };
        for table in &self.shard.tables {
            check(format!("table {:?}", table.name()), &slot_prefix(table.name()), table.slots())?;
        }
        let slots = self.shard.dense.optimizer().kind().slots();
        check("the dense range".to_owned(), DENSE_SLOT_PREFIX, slots)
    }
}

impl Shard {
    /// Restores a shard from the bytes of all files of a checkpoint, written by any number of servers. For
    /// files too large to hold, and to compare checksums, use [`Restore`].
    ///
    /// # Errors
    /// As [`Restore`].
    pub fn restore(
        spec: Arc<ModelSpec>,
        options: &UpdateOptions,
        map: PartitionMap,
        server: ServerId,
        seed: u64,
        parts: &[&[u8]],
    ) -> Result<Self, CheckpointError> {
        let mut restore = Restore::new(spec, options, map, server, seed)?;
        for (number, bytes) in parts.iter().enumerate() {
            restore.part(&format!("part {number}"), &mut &bytes[..], bytes.len() as u64)?;
        }
        restore.finish()
    }
}

/// The range of the flat dense parameters that the writer of a file held.
fn dense_range(shard: &Shard, header: &PartHeader) -> std::ops::Range<usize> {
    PartitionMap::new(header.servers).dense_range_of(header.server, shard.spec.dense_len())
}

/// Hashes what is read.
struct Hashing<'a> {
    from: &'a mut dyn Read,
    hash: Sha256,
}

impl Read for Hashing<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(to)?;
        self.hash.update(&to[..count]);
        Ok(count)
    }
}

/// Takes the tensors of one file into the shard.
struct Filling<'a> {
    part: &'a str,
    header: &'a PartHeader,
    shard: &'a mut Shard,
    /// Per table, once its keys are read: the row of each key, [`NONE`] for those of other servers.
    rows: Vec<Option<Vec<u32>>>,
}

impl Filling<'_> {
    fn tensor(&mut self, tensor: &Tensor, reader: &mut dyn Read) -> Result<(), CheckpointError> {
        match tensor.content {
            Content::Keys { table } => self.keys(tensor, table, reader),
            Content::Rows { table, at, width } => self.values(tensor, (table, at, width), reader),
            Content::Dense { slot } => self.dense(tensor, slot, reader),
        }
    }

    fn keys(&mut self, tensor: &Tensor, table: usize, reader: &mut dyn Read) -> Result<(), CheckpointError> {
        let id = TableId(table as u16);
        let theirs = PartitionMap::new(self.header.servers);
        let ours = self.shard.map;
        let mut rows = Vec::new();
        let mut last = None;
        blocks(self.part, reader, tensor.shape[0], 8, |bytes| {
            for bytes in bytes.as_chunks::<8>().0 {
                let key = Key(u64::from_le_bytes(*bytes));
                let error = |problem: String| CheckpointError::Key {
                    part: self.part.to_owned(),
                    tensor: tensor.name.clone(),
                    position: rows.len() as u64,
                    key: key.0,
                    problem,
                };
                if last.is_some_and(|last| last >= key) {
                    return Err(error("is not above the one before".to_owned()));
                }
                last = Some(key);
                let owner = theirs.server_of_key(id, key);
                if owner != self.header.server {
                    let server = self.header.server;
                    return Err(error(format!("belongs to server {owner}, the file to server {server}")));
                }
                let mine = ours.server_of_key(id, key) == self.shard.server;
                let table: &mut Table = &mut self.shard.tables[table];
                rows.push(if mine { table.create_zeroed(key) } else { NONE });
            }
            Ok(())
        })?;
        self.rows[table] = Some(rows);
        Ok(())
    }

    fn values(
        &mut self,
        tensor: &Tensor,
        (table, at, width): (usize, usize, usize),
        reader: &mut dyn Read,
    ) -> Result<(), CheckpointError> {
        if tensor.shape[0] == 0 {
            return Ok(());
        }
        let Some(rows) = &self.rows[table] else {
            return Err(CheckpointError::Tensor {
                part: self.part.to_owned(),
                tensor: tensor.name.clone(),
                expected: "the table's keys before it".to_owned(),
                got: "them after it".to_owned(),
            });
        };
        let table = &mut self.shard.tables[table];
        let mut rows = rows.iter();
        blocks(self.part, reader, tensor.shape[0], width * 4, |bytes| {
            for (bytes, &row) in bytes.chunks_exact(width * 4).zip(&mut rows) {
                if row != NONE {
                    copy_floats(bytes, &mut table.floats_at_mut(row)[at..at + width]);
                }
            }
            Ok(())
        })
    }

    fn dense(
        &mut self,
        tensor: &Tensor,
        slot: Option<usize>,
        reader: &mut dyn Read,
    ) -> Result<(), CheckpointError> {
        let ours = self.shard.dense.range();
        let mut at = self.header.dense_start;
        let part = self.shard.dense.part_mut(slot);
        blocks(self.part, reader, tensor.shape[0], 4, |bytes| {
            let end = at + bytes.len() / 4;
            let (from, to) = (at.max(ours.start), end.min(ours.end));
            if from < to {
                let bytes = &bytes[(from - at) * 4..(to - at) * 4];
                copy_floats(bytes, &mut part[from - ours.start..to - ours.start]);
            }
            at = end;
            Ok(())
        })
    }
}

/// Reads `count` items of `size` bytes and hands them on in blocks of whole items.
fn blocks(
    part: &str,
    reader: &mut dyn Read,
    count: usize,
    size: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let at_once = (BUFFER_BYTES / size).max(1).min(count);
    let mut buffer = vec![0; at_once * size];
    let mut left = count;
    while left > 0 {
        let items = left.min(at_once);
        let block = &mut buffer[..items * size];
        read_exact(part, reader, block)?;
        take(block)?;
        left -= items;
    }
    Ok(())
}

fn copy_floats(bytes: &[u8], to: &mut [f32]) {
    for (value, bytes) in to.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
}
