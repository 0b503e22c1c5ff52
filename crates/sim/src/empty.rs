//! A world without arithmetic: batches are counted, nothing is computed.

use std::collections::BTreeSet;

use gearshift_embedding::{Store, StoreError};
use gearshift_model::{Learner, ShapeError};
use gearshift_types::{
    BatchId, Commit, Gradients, IndexedBatch, ModelSpec, PartId, PullReply, PullRequest, Push, RowRange,
    Rows, ServerId, Step,
};

use crate::cluster::Workload;
use crate::world::World;

/// Rows of a block: the largest number that leaves room for ranges beyond it.
const BLOCK_ROWS: u32 = 1 << 24;

/// Samples that are only counted.
#[derive(Clone, Debug)]
pub struct EmptyWorld {
    samples: u64,
    workload: Workload,
}

impl EmptyWorld {
    /// One part of `samples` samples.
    #[must_use]
    pub fn new(samples: u64, workload: Workload) -> Self {
        Self { samples, workload }
    }
}

impl World for EmptyWorld {
    type Store = EmptyStore;

    fn store(&self, _server: ServerId, files: Option<&[Vec<u8>]>) -> Result<EmptyStore, String> {
        let Some(files) = files else { return Ok(EmptyStore::default()) };
        let file = files.first().and_then(|file| file.as_slice().try_into().ok());
        let bytes: [u8; 8] = file.ok_or("expected a file of 8 bytes")?;
        Ok(EmptyStore { version: Step(u64::from_le_bytes(bytes)), held: BTreeSet::new() })
    }

    fn file(&self, store: &EmptyStore) -> Result<Vec<u8>, String> {
        Ok(store.version.0.to_le_bytes().to_vec())
    }

    fn held(&self, store: &EmptyStore) -> usize {
        store.held.len()
    }

    fn learner(&self) -> Result<Box<dyn Learner>, String> {
        Ok(Box::new(EmptyLearner::default()))
    }

    fn open(&mut self, _part: PartId) -> Result<Vec<u32>, String> {
        let mut left = self.samples;
        let mut blocks = Vec::new();
        while left > 0 {
            let rows = left.min(u64::from(BLOCK_ROWS)) as u32;
            blocks.push(rows);
            left -= u64::from(rows);
        }
        Ok(blocks)
    }

    fn load(&mut self, ranges: &[RowRange]) -> Result<IndexedBatch, String> {
        let samples: u32 = ranges.iter().map(RowRange::rows).sum();
        Ok(IndexedBatch { labels: vec![0.0; samples as usize], ..IndexedBatch::default() })
    }

    fn workload(&self) -> Option<Workload> {
        Some(self.workload)
    }
}

/// Counts commits and held gradients.
#[derive(Clone, Debug, Default)]
pub struct EmptyStore {
    version: Step,
    held: BTreeSet<BatchId>,
}

impl Store for EmptyStore {
    fn version(&self) -> Step {
        self.version
    }

    fn pull(&mut self, request: &PullRequest) -> Result<PullReply, StoreError> {
        let rows = request.tables.iter().map(|_| Rows::default()).collect();
        Ok(PullReply { version: self.version, rows, dense: None })
    }

    fn hold(&mut self, push: Push) -> Result<(), StoreError> {
        self.held.insert(push.batch);
        Ok(())
    }

    fn release(&mut self, batch: BatchId) -> bool {
        self.held.remove(&batch)
    }

    fn squared_norms(&mut self, _commit: &Commit) -> Result<Vec<(u32, f64)>, StoreError> {
        Ok(Vec::new())
    }

    fn apply(&mut self, commit: &Commit, _scale: f32) -> Result<(), StoreError> {
        if commit.step != self.version {
            return Err(StoreError::OutOfOrder { expected: self.version, got: commit.step });
        }
        for member in &commit.members {
            let held = self.held.remove(&member.batch);
            if !held && member.weight > 0.0 {
                return Err(StoreError::NotHeld { step: commit.step, batch: member.batch });
            }
        }
        self.version = self.version.next();
        Ok(())
    }
}

/// Says how many samples there were.
#[derive(Clone, Debug, Default)]
pub struct EmptyLearner(ModelSpec);

impl Learner for EmptyLearner {
    fn spec(&self) -> &ModelSpec {
        &self.0
    }

    fn train(
        &mut self,
        batch: &IndexedBatch,
        _rows: &[Rows],
        _dense: &[f32],
        out: &mut Gradients,
    ) -> Result<(), ShapeError> {
        *out = Gradients { samples: batch.samples() as u32, ..Gradients::default() };
        Ok(())
    }

    fn predict(
        &mut self,
        batch: &IndexedBatch,
        _rows: &[Rows],
        _dense: &[f32],
        predictions: &mut Vec<f32>,
    ) -> Result<(), ShapeError> {
        predictions.clear();
        predictions.resize(batch.samples(), 0.5);
        Ok(())
    }
}
