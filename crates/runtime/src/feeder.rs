//! The thread that reads and parses ahead, in every gear.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError};
use gearshift_cluster::SchedulerInput;
use gearshift_data::{BadLine, BadLineLimit, BlockParser, BlockReader, DataError, DataSet, EVALUATION_PART};
use gearshift_types::PartId;

use crate::blocks::BlockCache;
use crate::local::{RunError, panic_text};

/// What the feeder is told.
pub(crate) enum FeederCommand {
    /// Read a part from its beginning, announce blocks from `skip_blocks` on.
    Open { part: PartId, skip_blocks: u32 },
    /// End.
    Stop,
}

/// What the feeder tells.
pub(crate) enum FeederNews {
    /// For the scheduler.
    Input(SchedulerInput),
    /// How far the open part has been read: done and all, in the reader's unit.
    Position(u64, u64),
    /// Bad lines of a part that has been read: how many, and the first ones.
    BadLines(PartId, u64, Vec<BadLine>),
    /// The data cannot be read; the job ends.
    Failed(RunError),
}

/// Reads parts as told until it is stopped.
pub(crate) struct Feeder {
    pub(crate) data: Arc<dyn DataSet>,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) rows_max: u64,
    pub(crate) bad_line_share_max: f64,
    pub(crate) commands: Receiver<FeederCommand>,
    pub(crate) news: Sender<FeederNews>,
}

impl Feeder {
    pub(crate) fn run(self) {
        // Nobody else would say why there are no more samples.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.read_parts())) {
            let text = format!("the thread that reads the data panicked: {}", panic_text(panic.as_ref()));
            let _ = self.news.send(FeederNews::Failed(RunError::Role(text)));
        }
    }

    fn read_parts(&self) {
        let mut next = self.commands.recv().ok();
        while let Some(FeederCommand::Open { part, skip_blocks }) = next {
            next = match self.feed(part, skip_blocks) {
                Ok(Some(command)) => Some(command),
                Ok(None) => self.commands.recv().ok(),
                Err(error) => {
                    let _ = self.news.send(FeederNews::Failed(error.into()));
                    self.commands.recv().ok()
                }
            };
        }
    }

    /// Feeds one part. Returns early with a command that came meanwhile.
    fn feed(&self, part: PartId, skip_blocks: u32) -> Result<Option<FeederCommand>, DataError> {
        self.cache.clear();
        let mut reader = self.open(part)?;
        let parser = self.data.parser();
        let mut limit = BadLineLimit::new(self.bad_line_share_max);
        for block in 0..skip_blocks {
            if reader.next_block()?.is_none() {
                return Err(DataError::Options(format!(
                    "part {} has {block} blocks, but {skip_blocks} of it were trained before the checkpoint; go on with the data and the block_rows of that run",
                    part.0
                )));
            }
        }
        while let Some((block, rows)) = self.next(reader.as_mut(), parser.as_ref(), &mut limit)? {
            let input = SchedulerInput::BlockRead { part, block, rows };
            let (done, all) = reader.position();
            let _ = self.news.send(FeederNews::Position(done, all));
            if self.news.send(FeederNews::Input(input)).is_err() {
                return Ok(Some(FeederCommand::Stop));
            }
            loop {
                match self.commands.try_recv() {
                    Ok(command) => return Ok(Some(command)),
                    Err(TryRecvError::Disconnected) => return Ok(Some(FeederCommand::Stop)),
                    Err(TryRecvError::Empty) => {}
                }
                if self.cache.wait_for_room(self.rows_max, Duration::from_millis(50)) {
                    break;
                }
            }
        }
        let _ = self.news.send(FeederNews::BadLines(part, limit.bad(), limit.first().to_vec()));
        let _ = self.news.send(FeederNews::Input(SchedulerInput::PartRead { part }));
        Ok(None)
    }

    fn open(&self, part: PartId) -> Result<Box<dyn BlockReader>, DataError> {
        if part == EVALUATION_PART { self.data.open_evaluation() } else { self.data.open(part) }
    }

    /// Reads, parses and keeps one block: its number and good rows.
    fn next(
        &self,
        reader: &mut dyn BlockReader,
        parser: &dyn BlockParser,
        limit: &mut BadLineLimit,
    ) -> Result<Option<(u32, u32)>, DataError> {
        let Some(raw) = reader.next_block()? else { return Ok(None) };
        let parsed = parser.parse(&raw)?;
        limit.add(&parsed)?;
        let rows = parsed.batch.samples() as u32;
        self.cache.insert(raw.part, raw.block, Arc::new(parsed.batch));
        Ok(Some((raw.block, rows)))
    }
}
