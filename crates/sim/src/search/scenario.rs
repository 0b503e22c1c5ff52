//! A scenario: a job, its data, its cluster and what goes wrong, all drawn from (gear, seed).

use std::rc::Rc;
use std::time::Duration;

use gearshift_cluster::{OnNonFinite, SchedulerOptions, WorkerOptions};
use gearshift_coordination::Gear;
use gearshift_embedding::UpdateOptions;

use super::data::Data;
use super::dice::Dice;
use super::draw;
use crate::simulation::Setup;

/// What somebody tells the scheduler while the job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// Change the gear.
    Shift(Gear),
    /// Finish the step, write a checkpoint, end.
    Stop,
}

/// A run to be simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The gear that it starts in; any when `None`.
    pub gear: Option<Gear>,
    /// All else follows from it.
    pub seed: u64,
    /// Job and cluster.
    pub setup: Setup,
    /// The data.
    pub data: Rc<Data>,
    /// The optimizers.
    pub update: UpdateOptions,
    /// One gradient in so many is not finite; 0 = none.
    pub poison_one_in: u32,
    /// Microseconds that reading a row takes.
    pub read_row_us: f64,
    /// What the scheduler is told, and after how many virtual seconds.
    pub hands: Vec<(f64, Hand)>,
}

impl Scenario {
    /// The scenario of a seed, starting in `gear` or in any.
    #[must_use]
    pub fn new(gear: Option<Gear>, seed: u64) -> Self {
        let which = gear.map_or(0, |gear| 1 + gear as u64);
        let mut dice = Dice::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (which << 56));
        let dice = &mut dice;
        let (workers, servers) = (dice.between(1, 8), dice.between(1, 4));
        let start = gear.unwrap_or_else(|| dice.pick(&Gear::ALL));
        let batch = draw::batch(dice);
        let parts = dice.between(1, 3);
        let data = Data::random(dice, parts, 220);
        let cluster = draw::cluster(dice, workers);
        let batch_seconds = draw::batch_seconds(&cluster, batch.local);
        let seconds = 1.5 * batch_seconds * data.rows() as f64 / f64::from(batch.local * workers);
        let lease = dice.float(3.0, 20.0) * batch_seconds + 0.02;
        // Now and then shorter than a batch takes.
        let drain_leases = if dice.one_in(5) { dice.float(0.02, 0.3) } else { dice.float(0.5, 3.0) };
        let scheduler = SchedulerOptions {
            start,
            gears: draw::gears(dice),
            batch,
            shifts: draw::planned(dice, start, parts, data.rows(), seconds),
            workers,
            servers,
            parts,
            evaluate_each_part: dice.one_in(4),
            final_evaluation: dice.one_in(4),
            evaluation_batch: dice.between(1, 40),
            lease: Duration::from_secs_f64(lease),
            drain: Duration::from_secs_f64(lease * drain_leases),
            on_nonfinite: OnNonFinite::Drop,
            clip_norm: dice.one_in(3).then(|| dice.float(0.01, 0.5) as f32),
            checkpoints: !dice.one_in(4),
            checkpoint_every_samples: (!dice.one_in(3)).then(|| u64::from(dice.between(8, 100))),
            checkpoint_every: dice
                .one_in(3)
                .then(|| Duration::from_secs_f64(seconds * dice.float(0.05, 0.5))),
            checkpoint_at_part_end: dice.one_in(2),
        };
        let worker = WorkerOptions { unacknowledged_max: dice.between(1, 3), pull_ahead: dice.one_in(2) };
        let mut setup = Setup { scheduler, worker, cluster, trace: None, seed, resume: None, keep_log: true };
        setup.cluster.fault = draw::faults(dice, workers, servers, seconds, lease);
        let update = UpdateOptions { clip_norm: setup.scheduler.clip_norm, ..draw::update(dice) };
        let poison_one_in = if dice.one_in(5) { dice.between(4, 30) } else { 0 };
        let hands = draw::hands(dice, start, seconds);
        // Up to as long as training takes.
        let row_us = 1e6 * seconds / (data.rows().max(1) as f64);
        let read_row_us = if dice.one_in(2) { dice.float(0.0, row_us) } else { 0.0 };
        Self { gear, seed, setup, data: Rc::new(data), update, poison_one_in, read_row_us, hands }
    }

    /// Full local batches of an update of the gears in which batches flow (M).
    #[must_use]
    pub fn batches_per_step(&self, gear: Gear) -> u64 {
        let scheduler = &self.setup.scheduler;
        let usual = scheduler.batch.global / scheduler.batch.local;
        u64::from(match gear {
            Gear::Asynchronous | Gear::BoundedStaleness => 1,
            Gear::KBatch => scheduler.gears.k_batches.unwrap_or(usual),
            Gear::Synchronous | Gear::Gba | Gear::BackupWorkers => usual,
        })
    }

    /// Whether somebody stops it.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.hands.iter().any(|(_, hand)| *hand == Hand::Stop)
    }

    /// The longest that the job may stand still without a fault, or after one: a lease, a drain, and twice the time
    /// that the slowest worker takes for a whole global batch on its own (longer when a drain is shorter than that).
    #[must_use]
    pub fn patience(&self) -> Duration {
        let scheduler = &self.setup.scheduler;
        let cluster = &self.setup.cluster;
        let (speed, server) = (&cluster.speed, &cluster.server);
        let per_step = scheduler.batch.global / scheduler.batch.local;
        let batches =
            f64::from(per_step.max(scheduler.gears.k_batches.unwrap_or(1)) + 2 * scheduler.workers + 2);
        let samples = f64::from(scheduler.batch.local) * batches + f64::from(scheduler.evaluation_batch);
        let slow = speed.slow.iter().map(|slow| slow.factor).fold(1.0, f64::max);
        let noise = speed.noise.map_or(1.0, |noise| (4.5 * noise.sigma).exp());
        let load = speed.load.map_or(1.0, |load| (4.5 * load.sigma).exp());
        let factor = (1.0 + speed.jitter) * slow * noise * load;
        let computing = (samples * speed.sample_us + batches * speed.batch_us) * 1e-6 * factor;
        let own = cluster.network.link.iter().filter_map(|link| link.latency_us).fold(0.0, f64::max);
        let way = (cluster.network.latency_us.max(own) + cluster.network.latency_jitter_us) * 1e-6;
        let rows_ns = server.pull_row_ns + server.push_row_ns + server.apply_row_ns;
        let served = (4.0 * server.request_us + 6.0 * server.scheduler_us) * 1e-6 + 400.0 * rows_ns * 1e-9;
        let card = cluster.network.gbit.map_or(0.0, |gbit| 40_000.0 * 8e-9 / gbit);
        let talking = batches * (10.0 * way + f64::from(scheduler.workers) * (served + card));
        let writing = 4.0 * server.checkpoint_ms * 1e-3;
        let leases = 1.5 * (scheduler.lease + scheduler.drain).as_secs_f64();
        let reading = 120.0 * self.read_row_us * 1e-6;
        let step = computing + talking + writing + reading;
        // A drain shorter than a batch takes it away and grants it again, each time for twice as long.
        let again = if scheduler.drain.as_secs_f64() < step { 8.0 } else { 0.0 };
        Duration::from_secs_f64(leases + (2.0 + again) * step)
    }
}
