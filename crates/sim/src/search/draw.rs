//! Draws the pieces of a scenario.

use std::time::Duration;

use gearshift_cluster::{PlannedShift, ShiftAt};
use gearshift_coordination::{BatchOptions, DecayKind, Gear, GearOptions, TokenKind};
use gearshift_embedding::{Divisor, OptimizerKind, OptimizerOptions, UpdateOptions};
use gearshift_types::PartId;

use super::dice::Dice;
use super::scenario::Hand;
use crate::cluster::{
    ClusterOptions, Fault, FaultKind, LinkOptions, LoadOptions, LoadPattern, NetworkOptions, NoiseOptions,
    ServerOptions, Slow, SpeedOptions,
};

pub(super) fn batch(dice: &mut Dice) -> BatchOptions {
    let (local, per_step) = (dice.between(2, 8), dice.between(1, 6));
    BatchOptions { global: local * per_step, local }
}

pub(super) fn gears(dice: &mut Dice) -> GearOptions {
    let decays =
        [DecayKind::Hard, DecayKind::Hard, DecayKind::Power, DecayKind::None, DecayKind::VersionPower];
    GearOptions {
        decay: dice.pick(&decays),
        tolerance_steps: dice.between(0, 4),
        power: dice.float(0.0, 2.0) as f32,
        tokens: if dice.one_in(5) { TokenKind::Version } else { TokenKind::Position },
        bound_clocks: dice.between(0, 3),
        backups: dice.between(0, 3),
        k_batches: dice.one_in(2).then(|| dice.between(1, 6)),
    }
}

/// A gear that is not `gear`, or the one it started in.
fn other(dice: &mut Dice, start: Gear) -> Gear {
    if dice.one_in(3) { start } else { dice.pick(&Gear::ALL) }
}

pub(super) fn planned(
    dice: &mut Dice,
    start: Gear,
    parts: u32,
    rows: u64,
    seconds: f64,
) -> Vec<PlannedShift> {
    let shifts = if dice.one_in(2) { 0 } else { dice.between(1, 3) };
    let shift = |_| {
        let at = match dice.below(3) {
            0 => ShiftAt::Sample(dice.below(rows as usize + 1) as u64),
            1 => ShiftAt::Part(PartId(dice.between(0, parts))),
            _ => ShiftAt::Elapsed(Duration::from_secs_f64(seconds * dice.float(0.0, 1.0))),
        };
        PlannedShift { at, to: other(dice, start) }
    };
    (0..shifts).map(shift).collect()
}

pub(super) fn hands(dice: &mut Dice, start: Gear, seconds: f64) -> Vec<(f64, Hand)> {
    let shifts = if dice.one_in(2) { 0 } else { dice.between(1, 3) };
    let mut hands: Vec<(f64, Hand)> =
        (0..shifts).map(|_| (dice.float(0.0, seconds), Hand::Shift(other(dice, start)))).collect();
    if dice.one_in(20) {
        hands.push((dice.float(0.0, seconds), Hand::Stop));
    }
    hands.sort_by(|one, two| one.0.total_cmp(&two.0));
    hands
}

pub(super) fn update(dice: &mut Dice) -> UpdateOptions {
    let kinds = [OptimizerKind::Sgd, OptimizerKind::Adagrad, OptimizerKind::Adam, OptimizerKind::Ftrl];
    let optimizer = |kind| OptimizerOptions { kind, rate: 0.02, ..OptimizerOptions::default() };
    let row_wise = dice.one_in(5);
    let sparse = if row_wise { OptimizerKind::RowWiseAdagrad } else { dice.pick(&kinds) };
    let dense = dice.pick(&kinds);
    let divisor = if dice.one_in(5) { Divisor::IdBatches } else { Divisor::Global };
    UpdateOptions { sparse: optimizer(sparse), dense: optimizer(dense), divisor, clip_norm: None }
}

pub(super) fn cluster(dice: &mut Dice, workers: u32) -> ClusterOptions {
    ClusterOptions {
        speed: speed(dice, workers),
        network: network(dice, workers),
        server: server(dice),
        fault: Vec::new(),
    }
}

fn speed(dice: &mut Dice, workers: u32) -> SpeedOptions {
    let mut slow = Vec::new();
    if dice.one_in(2) {
        slow.push(Slow { workers: dice.between(1, workers), factor: dice.float(1.5, 10.0) });
    }
    let noise = NoiseOptions { sigma: dice.float(0.1, 0.8), correlation: dice.pick(&[0.0, 0.5, 1.0]) };
    let pattern = dice.pick(&[LoadPattern::Calm, LoadPattern::Diurnal, LoadPattern::Bursty]);
    let load = LoadOptions { pattern, sigma: 0.4, hour_seconds: dice.float(0.005, 0.1) };
    SpeedOptions {
        sample_us: dice.float(50.0, 300.0),
        batch_us: if dice.one_in(2) { dice.float(0.0, 500.0) } else { 0.0 },
        jitter: dice.pick(&[0.0, 0.1, 0.5]),
        slow,
        noise: dice.one_in(3).then_some(noise),
        load: dice.one_in(8).then_some(load),
        trace: None,
    }
}

fn network(dice: &mut Dice, workers: u32) -> NetworkOptions {
    let link = LinkOptions {
        worker: dice.between(0, workers - 1),
        latency_us: dice.one_in(2).then(|| dice.float(100.0, 2000.0)),
        gbit: dice.one_in(2).then_some(0.05),
    };
    NetworkOptions {
        latency_us: dice.float(0.0, 400.0),
        latency_jitter_us: dice.pick(&[0.0, 50.0, 400.0, 3000.0]),
        gbit: dice.one_in(6).then_some(0.1),
        link: if dice.one_in(6) { vec![link] } else { Vec::new() },
    }
}

fn server(dice: &mut Dice) -> ServerOptions {
    if dice.one_in(2) {
        return ServerOptions::default();
    }
    ServerOptions {
        request_us: dice.float(0.0, 150.0),
        pull_row_ns: dice.float(0.0, 3000.0),
        push_row_ns: dice.float(0.0, 3000.0),
        apply_row_ns: dice.float(0.0, 3000.0),
        apply_float_ns: dice.float(0.0, 300.0),
        checkpoint_ms: dice.pick(&[0.0, 1.0, 10.0]),
        scheduler_us: dice.pick(&[0.0, 5.0, 60.0]),
    }
}

/// Seconds from one batch of a usual worker to its next.
pub(super) fn batch_seconds(cluster: &ClusterOptions, samples: u32) -> f64 {
    let (speed, network, server) = (&cluster.speed, &cluster.network, &cluster.server);
    let computing = f64::from(samples) * speed.sample_us + speed.batch_us;
    let ways = 4.0 * (network.latency_us + 0.5 * network.latency_jitter_us);
    (computing + ways + 4.0 * server.request_us) * 1e-6
}

/// Faults of every kind. One worker is spared but for a short one, so that somebody is always able to finish.
pub(super) fn faults(dice: &mut Dice, workers: u32, servers: u32, seconds: f64, lease: f64) -> Vec<Fault> {
    let mut spared = Some(dice.between(0, workers - 1));
    let spared_for_good = spared;
    let count = if dice.one_in(4) { 0 } else { dice.between(1, 4) };
    let mut faults = Vec::new();
    for _ in 0..count {
        let kind = dice.pick(&[
            FaultKind::WorkerCrash,
            FaultKind::WorkerCrash,
            FaultKind::WorkerVanish,
            FaultKind::WorkerPause,
            FaultKind::WorkerPause,
            FaultKind::LinkCut,
            FaultKind::ServerCrash,
            FaultKind::SchedulerCrash,
        ]);
        let is_role = matches!(kind, FaultKind::ServerCrash | FaultKind::SchedulerCrash);
        // Roles end late enough for a checkpoint to be there, mostly.
        let at_seconds = dice.float(if is_role { 0.2 } else { 0.0 } * seconds, seconds);
        let who = dice.between(0, workers - 1);
        let is_spared = Some(who) == spared_for_good && !is_role;
        if is_spared && spared.take().is_none() {
            continue;
        }
        let longest = if is_spared { 0.3 } else { 2.5 };
        let for_good = !is_spared && dice.one_in(3);
        let for_good = for_good && matches!(kind, FaultKind::WorkerCrash | FaultKind::WorkerVanish);
        let lasts = Some(lease * dice.float(0.05, longest)).filter(|_| !for_good);
        let who = if kind == FaultKind::ServerCrash { dice.between(0, servers - 1) } else { who };
        faults.push(Fault { at_seconds, kind, who, seconds: lasts });
    }
    faults
}
