//! What a shard checks of pulls, pushes and commits before it touches or allocates anything.

use std::collections::BTreeSet;

use gearshift_types::{BatchId, Commit, Key, Push, TableGradients, TableId};

use crate::index::{Index, NONE, tag_of};
use crate::shard::Shard;
use crate::store::StoreError;
use crate::sums::first_non_finite;

fn shape(what: String, expected: impl ToString, got: impl ToString) -> StoreError {
    StoreError::Shape { what, expected: expected.to_string(), got: got.to_string() }
}

impl Shard {
    /// The table exists and its keys live here.
    pub(crate) fn check_keys(&self, table: TableId, keys: &[Key]) -> Result<(), StoreError> {
        if usize::from(table.0) >= self.tables.len() {
            return Err(StoreError::UnknownTable { table, tables: self.tables.len() });
        }
        if self.map.servers() == 1 {
            return Ok(());
        }
        match keys.iter().find(|&&key| self.map.server_of_key(table, key) != self.server) {
            None => Ok(()),
            Some(&key) => Err(shape(
                format!("server of key {key} of table {}", self.table_name(table)),
                format!("{} of {}", self.server, self.map.servers()),
                format!("a key of server {}", self.map.server_of_key(table, key)),
            )),
        }
    }

    pub(crate) fn check_push(&self, push: &Push) -> Result<(), StoreError> {
        let batch = push.batch;
        if push.samples == 0 {
            return Err(shape(format!("samples of batch {batch}"), "at least 1", 0));
        }
        let len = self.dense.range().len();
        if push.dense.len() != len {
            return Err(shape(format!("dense gradient of batch {batch}"), len, push.dense.len()));
        }
        let mut seen = BTreeSet::new();
        let mut index = Index::default();
        for gradients in &push.tables {
            self.check_keys(gradients.table, &gradients.keys)?;
            if !seen.insert(gradients.table) {
                let what = format!("table {} in batch {batch}", self.table_name(gradients.table));
                return Err(shape(what, "once", "twice"));
            }
            self.check_gradients(batch, gradients, &mut index)?;
        }
        if let Some(at) = first_non_finite(&push.dense) {
            let (tensor, value) = (self.tensor_at(at), push.dense[at]);
            return Err(StoreError::NonFiniteDense { batch, tensor, value });
        }
        Ok(())
    }

    /// Lengths fit, keys are distinct, values are finite.
    fn check_gradients(
        &self,
        batch: BatchId,
        gradients: &TableGradients,
        index: &mut Index,
    ) -> Result<(), StoreError> {
        let table = &self.tables[usize::from(gradients.table.0)];
        let (keys, dim) = (&gradients.keys, table.dim());
        let name = table.name();
        if Some(gradients.values.len()) != keys.len().checked_mul(dim) {
            return Err(shape(
                format!("gradients of table {name} in batch {batch}"),
                format!("{} rows of {dim} values", keys.len()),
                format!("{} values", gradients.values.len()),
            ));
        }
        index.clear();
        index.reserve(keys.len());
        for (position, &key) in keys.iter().enumerate() {
            let tag = tag_of(key);
            if index.find(tag, |position| keys[position as usize] == key) != NONE {
                let what = format!("keys of table {name} in batch {batch}");
                return Err(shape(what, "distinct keys", format!("key {key} twice")));
            }
            index.insert(tag, position as u32);
        }
        match first_non_finite(&gradients.values) {
            None => Ok(()),
            Some(at) => Err(StoreError::NonFiniteRow {
                batch,
                table: name.to_owned(),
                key: keys[at / dim],
                value: gradients.values[at],
            }),
        }
    }

    /// The name of the dense tensor that float `at` of this shard's range belongs to.
    pub(crate) fn tensor_at(&self, at: usize) -> String {
        let mut rest = self.dense.range().start + at;
        for tensor in &self.spec.dense {
            if rest < tensor.len() {
                return tensor.name.clone();
            }
            rest -= tensor.len();
        }
        unreachable!("float {at} lies in no dense tensor")
    }

    pub(crate) fn check_commit(&self, commit: &Commit, scale: f32) -> Result<(), StoreError> {
        if commit.step != self.version {
            return Err(StoreError::OutOfOrder { expected: self.version, got: commit.step });
        }
        let step = commit.step;
        if !(0.0..=1.0).contains(&scale) {
            return Err(shape(format!("scale of the commit of step {step}"), "0 to 1", scale));
        }
        let mut seen = BTreeSet::new();
        let mut live = 0;
        for member in &commit.members {
            let batch = member.batch;
            if !(0.0..=1.0).contains(&member.weight) {
                let what = format!("weight of batch {batch} in the commit of step {step}");
                return Err(shape(what, "0 to 1", member.weight));
            }
            if !seen.insert(batch) {
                let what = format!("batch {batch} in the commit of step {step}");
                return Err(shape(what, "once", "twice"));
            }
            if member.weight > 0.0 {
                live += 1;
                if !self.held.contains_key(&batch) {
                    return Err(StoreError::NotHeld { step, batch });
                }
            }
        }
        if live > 0 && commit.divisor_samples == 0 {
            return Err(shape(format!("divisor of the commit of step {step}"), "at least 1 sample", 0));
        }
        self.check_room(commit)
    }

    /// Row numbers are 32 bits wide.
    fn check_room(&self, commit: &Commit) -> Result<(), StoreError> {
        let mut added = vec![0_usize; self.tables.len()];
        for push in commit.members.iter().filter_map(|member| self.held.get(&member.batch)) {
            for gradients in &push.tables {
                added[usize::from(gradients.table.0)] += gradients.keys.len();
            }
        }
        for (table, added) in self.tables.iter().zip(added) {
            if table.rows() + added >= NONE as usize {
                let what = format!("rows of table {} on one server", table.name());
                return Err(shape(what, format!("fewer than {NONE}"), table.rows() + added));
            }
        }
        Ok(())
    }
}
