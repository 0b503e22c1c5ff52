//! Shards of a job's model, and samples of its data: what every world with a real model shares.

use std::ops::Range;
use std::sync::Arc;

use gearshift_data::{Indexer, gather};
use gearshift_embedding::{Shard, UpdateOptions};
use gearshift_types::{Batch, IndexedBatch, ModelSpec, PartitionMap, RowRange, ServerId};

/// Makes shards, new or from checkpoint files.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    pub(crate) spec: Arc<ModelSpec>,
    pub(crate) update: UpdateOptions,
    pub(crate) map: PartitionMap,
    pub(crate) seed: u64,
}

impl Shards {
    /// The shard of a server.
    pub(crate) fn of(&self, server: ServerId, files: Option<&[Vec<u8>]>) -> Result<Shard, String> {
        self.make(self.map, server, files)
    }

    /// All parameters in one shard, the same bits as on any number of servers.
    pub(crate) fn whole(&self, files: Option<&[Vec<u8>]>) -> Result<Shard, String> {
        self.make(PartitionMap::new(1), ServerId(0), files)
    }

    fn make(&self, map: PartitionMap, server: ServerId, files: Option<&[Vec<u8>]>) -> Result<Shard, String> {
        let spec = Arc::clone(&self.spec);
        match files {
            None => Shard::new(spec, &self.update, map, server, self.seed).map_err(|error| error.to_string()),
            Some(files) => {
                let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
                Shard::restore(spec, &self.update, map, server, self.seed, &files)
                    .map_err(|error| error.to_string())
            }
        }
    }

    /// The checkpoint file of a shard.
    pub(crate) fn file(&self, shard: &Shard) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        shard.write_checkpoint(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Samples of blocks; `block` finds them.
    pub(crate) fn load<'a>(
        &self,
        indexer: &mut Indexer,
        ranges: &[RowRange],
        block: impl Fn(&RowRange) -> Option<&'a Batch>,
    ) -> Result<IndexedBatch, String> {
        let mut pieces: Vec<(&Batch, Range<u32>)> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let found = block(range).filter(|block| range.end as usize <= block.samples());
            let found = found.ok_or_else(|| format!("rows {range:?} are not in the data"))?;
            pieces.push((found, range.start..range.end));
        }
        Ok(indexer.index(&gather(&pieces), &self.spec.features, self.spec.tables.len()))
    }
}
