//! Which tensors a checkpoint has, for writer and reader alike.

use crate::shard::Shard;

/// What a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Keys of a table.
    Keys { table: usize },
    /// Floats `at..at + width` of each row of a table.
    Rows { table: usize, at: usize, width: usize },
    /// The dense values (`None`) or a slot.
    Dense { slot: Option<usize> },
}

/// One tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) shape: Vec<usize>,
}

impl Tensor {
    /// The type, as safetensors names it.
    pub(crate) fn dtype(&self) -> &'static str {
        match self.content {
            Content::Keys { .. } => "U64",
            Content::Rows { .. } | Content::Dense { .. } => "F32",
        }
    }
}

/// Name of a table's keys.
pub(crate) fn keys_name(table: &str) -> String {
    format!("table.{table}.keys")
}

/// What the names of a table's slots start with.
pub(crate) fn slot_prefix(table: &str) -> String {
    format!("table.{table}.slot.")
}

/// What the names of dense slots start with.
pub(crate) const DENSE_SLOT_PREFIX: &str = "dense.slot.";

/// The tensors of a file with `rows[table]` rows and `dense_len` dense floats, in the order of writing.
pub(crate) fn tensors(shard: &Shard, rows: &[usize], dense_len: usize) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for (table, spec) in shard.tables.iter().enumerate() {
        let name = keys_name(spec.name());
        tensors.push(Tensor { name, content: Content::Keys { table }, shape: vec![rows[table]] });
    }
    for (table, spec) in shard.tables.iter().enumerate() {
        let mut push = |name, at, width| {
            let content = Content::Rows { table, at, width };
            tensors.push(Tensor { name, content, shape: vec![rows[table], width] });
        };
        push(format!("table.{}.values", spec.name()), 0, spec.dim());
        let mut at = spec.dim();
        for slot in spec.slots() {
            let width = slot.width(spec.dim());
            push(format!("{}{}", slot_prefix(spec.name()), slot.name), at, width);
            at += width;
        }
    }
    let mut push = |name, slot| {
        tensors.push(Tensor { name, content: Content::Dense { slot }, shape: vec![dense_len] });
    };
    push("dense.values".to_owned(), None);
    for (number, slot) in shard.dense.optimizer().kind().slots().iter().enumerate() {
        push(format!("{DENSE_SLOT_PREFIX}{}", slot.name), Some(number));
    }
    tensors
}
