//! Digests of a state that do not depend on the order of rows or on the number of servers: wrapping sums of
//! the xxh3-128 of each row and each dense chunk, so the digests of all servers add up to the model's.

use std::fmt;
use std::str::FromStr;

use gearshift_types::DENSE_CHUNK;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use crate::dense::DenseRange;
use crate::shard::Shard;
use crate::table::Table;

/// A 128-bit digest; 32 hexadecimal digits as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parsed = if digits { u128::from_str_radix(text, 16).ok() } else { None };
        parsed.map(Self).ok_or_else(|| format!("digest: expected 32 hexadecimal digits, got {text:?}"))
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Digest {
    pub(crate) fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

/// Digest of one table's rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// Name of the table.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    /// Sum over rows of the hash of key, vector and slots.
    pub digest: Digest,
}

/// Digest of a shard, or of a model once those of all its servers are added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardDigest {
    /// One entry per table, in the order of the spec.
    pub tables: Vec<TableDigest>,
    /// Sum over chunks of the hash of chunk number, values and slots.
    pub dense: Digest,
}

impl ShardDigest {
    /// Adds the digest of another server of the same model; start from the default. Tables are matched by name.
    pub fn add(&mut self, other: &Self) {
        for table in &other.tables {
            match self.tables.iter_mut().find(|mine| mine.name == table.name) {
                None => self.tables.push(table.clone()),
                Some(mine) => {
                    mine.rows = mine.rows.wrapping_add(table.rows);
                    mine.digest.add(table.digest);
                }
            }
        }
        self.dense.add(other.dense);
    }
}

impl Shard {
    /// Digest of its rows and dense parameters with their optimizer slots.
    #[must_use]
    pub fn digest(&self) -> ShardDigest {
        let tables = self.tables.iter().map(|table| {
            let mut digest = Digest::default();
            for row in 0..table.rows() as u32 {
                digest.add(row_digest(table, row));
            }
            TableDigest { name: table.name().to_owned(), rows: table.rows() as u64, digest }
        });
        ShardDigest { tables: tables.collect(), dense: dense_digest(&self.dense) }
    }
}

pub(crate) fn row_digest(table: &Table, row: u32) -> Digest {
    Digest(with_le_bytes(table.words(row), XxHash3_128::oneshot))
}

pub(crate) fn dense_digest(dense: &DenseRange) -> Digest {
    let mut digest = Digest::default();
    let first = dense.range().start / DENSE_CHUNK;
    let len = dense.values().len();
    let slots = dense.optimizer().kind().slots().len();
    let mut bytes = Vec::new();
    for (number, at) in (0..len).step_by(DENSE_CHUNK).enumerate() {
        let chunk = at..(at + DENSE_CHUNK).min(len);
        bytes.clear();
        bytes.extend_from_slice(&((first + number) as u64).to_le_bytes());
        let parts = std::iter::once(dense.values()).chain((0..slots).map(|slot| dense.slot(slot)));
        for part in parts {
            let words: &[u32] = bytemuck::must_cast_slice(&part[chunk.clone()]);
            with_le_bytes(words, |part| bytes.extend_from_slice(part));
        }
        digest.add(Digest(XxHash3_128::oneshot(&bytes)));
    }
    digest
}

/// Calls `take` with the little-endian bytes of `words`; no copy where memory is little-endian already.
pub(crate) fn with_le_bytes<T>(words: &[u32], take: impl FnOnce(&[u8]) -> T) -> T {
    if cfg!(target_endian = "little") {
        take(bytemuck::must_cast_slice(words))
    } else {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        take(&bytes)
    }
}
