//! replay: the commit log, replayed in one thread on one shard, gives the rows and dense parameters that the servers
//! hold at the end, slots included, bit for bit.

use std::rc::Rc;

use gearshift_cluster::replay::commits;
use gearshift_cluster::{LogEntry, LogMember, ReplaySource};
use gearshift_embedding::ShardDigest;
use gearshift_types::{IndexedBatch, ServerId, Time};

use super::Check;
use super::books::Books;
use crate::moment::Moment;
use crate::search::{Scenario, TinyWorld};
use crate::world::World;

pub(super) struct Replay {
    told: Rc<Scenario>,
}

impl Replay {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told }
    }
}

/// The samples of a log, from the scenario's data.
struct Samples(TinyWorld);

impl ReplaySource for Samples {
    type Error = String;

    fn samples(&mut self, member: &LogMember) -> Result<IndexedBatch, String> {
        self.0.load(&member.ranges)
    }
}

fn replay(told: &Scenario, log: &[LogEntry]) -> Result<ShardDigest, String> {
    // Of all servers in one shard; what is replayed is finite.
    let mut world = TinyWorld::new(told, 1)?;
    world.poison_one_in = 0;
    let replay = gearshift_cluster::Replay {
        shard: world.store(ServerId(0), None)?,
        learner: world.learner()?,
        source: Samples(world),
        servers: told.setup.scheduler.servers,
        clip_norm: told.setup.scheduler.clip_norm,
    };
    let shard = replay.run(&commits(log)).map_err(|error| error.to_string())?;
    Ok(shard.digest())
}

impl Check for Replay {
    const NAME: &'static str = "replay";

    fn check(&mut self, _books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let Moment::Over { log, digest } = moment else { return Ok(()) };
        let replayed = replay(&self.told, log)?;
        if *digest != Some(&replayed) {
            return Err(format!("the log replayed gives {replayed:?}, the servers hold {digest:?}"));
        }
        Ok(())
    }
}
