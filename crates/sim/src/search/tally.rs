//! What happened in runs: for the tables that people read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_cluster::{LogEntry, Notice, SampleCounts, SchedulerOutput};
use gearshift_types::Time;

use crate::cluster::FaultKind;
use crate::moment::{Moment, Watcher};

/// What happened in one run or in many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Runs.
    pub runs: u64,
    /// Virtual seconds.
    pub seconds: f64,
    /// Updates decided, those that were rolled back included.
    pub commits: u64,
    /// Faults that struck, by their name in cluster files.
    pub faults: BTreeMap<&'static str, u64>,
    /// Shifts.
    pub shifts: u64,
    /// Times that everything went on from the last checkpoint.
    pub roll_backs: u64,
    /// Of those, from a checkpoint and not from the beginning.
    pub resumed: u64,
    /// The ledgers at the end.
    pub samples: SampleCounts,
}

impl Stats {
    /// Adds those of other runs.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.seconds += other.seconds;
        self.commits += other.commits;
        self.shifts += other.shifts;
        self.roll_backs += other.roll_backs;
        self.resumed += other.resumed;
        self.samples.read += other.samples.read;
        self.samples.applied += other.samples.applied;
        self.samples.dropped += other.samples.dropped;
        self.samples.discarded += other.samples.discarded;
        self.samples.failed += other.samples.failed;
        self.samples.granted_again += other.samples.granted_again;
        for (name, count) in &other.faults {
            *self.faults.entry(name).or_default() += count;
        }
    }
}

/// The name of a kind of faults in cluster files.
#[must_use]
pub fn fault_name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::WorkerCrash => "worker_crash",
        FaultKind::WorkerVanish => "worker_vanish",
        FaultKind::WorkerPause => "worker_pause",
        FaultKind::LinkCut => "link_cut",
        FaultKind::ServerCrash => "server_crash",
        FaultKind::SchedulerCrash => "scheduler_crash",
    }
}

/// Counts.
#[derive(Clone, Default)]
pub(super) struct Tally(pub(super) Rc<RefCell<Stats>>);

impl Watcher for Tally {
    fn watch(&mut self, now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let mut stats = self.0.borrow_mut();
        match moment {
            Moment::SchedulerSays { outputs, samples, .. } => {
                stats.samples = **samples;
                for output in *outputs {
                    match output {
                        SchedulerOutput::Log(LogEntry::Commit { .. }) => stats.commits += 1,
                        SchedulerOutput::Notice(Notice::Shifted { .. }) => stats.shifts += 1,
                        SchedulerOutput::Finished(_) => stats.seconds = now.0 as f64 * 1e-9,
                        _ => {}
                    }
                }
            }
            Moment::Fault(fault) => *stats.faults.entry(fault_name(fault.kind)).or_default() += 1,
            Moment::RolledBack { log } => {
                stats.roll_backs += 1;
                stats.resumed += u64::from(!log.is_empty());
            }
            _ => {}
        }
        Ok(())
    }
}
