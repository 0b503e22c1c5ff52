//! What a simulated cluster trains: nothing, with thousands of workers, or a real model.

use gearshift_embedding::{ShardDigest, Store};
use gearshift_model::Learner;
use gearshift_types::{IndexedBatch, PartId, RowRange, ServerId};

use crate::cluster::Workload;

/// Stores, learners and samples of a run.
pub trait World {
    /// What a server holds.
    type Store: Store;

    /// The store of a server, new or from the files of a checkpoint.
    ///
    /// # Errors
    /// When it cannot be made: who, what was expected, what came.
    fn store(&self, server: ServerId, files: Option<&[Vec<u8>]>) -> Result<Self::Store, String>;

    /// The checkpoint file of a store.
    ///
    /// # Errors
    /// When it cannot be written.
    fn file(&self, store: &Self::Store) -> Result<Vec<u8>, String>;

    /// Gradients that a store holds until their commit.
    fn held(&self, store: &Self::Store) -> usize;

    /// Digest of a store's rows and dense parameters, where there are any.
    fn digest(&self, _store: &Self::Store) -> Option<ShardDigest> {
        None
    }

    /// A learner for one life of a worker.
    ///
    /// # Errors
    /// When the model cannot be built.
    fn learner(&self) -> Result<Box<dyn Learner>, String>;

    /// Opens a part: the rows of each of its blocks.
    ///
    /// # Errors
    /// When it cannot be read.
    fn open(&mut self, part: PartId) -> Result<Vec<u32>, String>;

    /// Seconds that reading a block takes; the blocks of a part are announced one after the other. Real readers are ahead
    /// of training.
    fn read_seconds(&self, _rows: u32) -> f64 {
        0.0
    }

    /// Samples of the open part.
    ///
    /// # Errors
    /// When they are not there.
    fn load(&mut self, ranges: &[RowRange]) -> Result<IndexedBatch, String>;

    /// Dense parameters of the model.
    fn dense_len(&self) -> usize {
        0
    }

    /// What messages weigh when they carry nothing; `None` when they are weighed as they are.
    fn workload(&self) -> Option<Workload> {
        None
    }
}
