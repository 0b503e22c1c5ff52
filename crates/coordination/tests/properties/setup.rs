//! One run: the gear, its settings, the data, how it ends, and the bytes that choose its events.

use gearshift_coordination::{
    BatchOptions, DecayKind, Engagement, Gear, GearOptions, Rule, TokenKind, engage,
};
use gearshift_types::{BatchId, Step};
use proptest::prelude::*;

/// How a rule is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    DataExhausted,
    ShiftRequested,
    Both,
}

/// Everything that a run depends on.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) gear: Gear,
    pub(crate) options: GearOptions,
    pub(crate) at: Engagement,
    /// Samples that arrive before the choices are used up.
    pub(crate) samples: u64,
    pub(crate) workers_max: u32,
    pub(crate) ending: Ending,
    pub(crate) choices: Vec<u16>,
}

impl Setup {
    pub(crate) fn rule(&self) -> Box<dyn Rule> {
        engage(self.gear, &self.options, self.at).unwrap()
    }

    pub(crate) fn global(&self) -> u32 {
        self.at.batch.global
    }

    pub(crate) fn local(&self) -> u32 {
        self.at.batch.local
    }

    /// Local batches per update of the gears without steps that workers wait for.
    pub(crate) fn per_step(&self) -> u64 {
        match self.gear {
            Gear::Gba => u64::from(self.global() / self.local()),
            Gear::KBatch => u64::from(self.options.k_batches.unwrap_or(self.global() / self.local())),
            _ => 1,
        }
    }

    /// Whether workers start at once and gradients are buffered, rather than step by step.
    pub(crate) fn flows(&self) -> bool {
        !matches!(self.gear, Gear::Synchronous | Gear::BackupWorkers)
    }
}

/// Runs of `gear`.
pub(crate) fn setups(gear: Gear) -> impl Strategy<Value = Setup> {
    let decay = prop_oneof![
        4 => Just(DecayKind::Hard),
        1 => Just(DecayKind::Power),
        1 => Just(DecayKind::None),
        1 => Just(DecayKind::VersionPower),
    ];
    let tokens = prop_oneof![5 => Just(TokenKind::Position), 1 => Just(TokenKind::Version)];
    let k_batches = prop::option::weighted(0.5, 1..6_u32);
    let numbers = (0..4_u32, 0..4_u32, 0..4_u32, k_batches);
    let options = (decay, tokens, numbers).prop_map(|(decay, tokens, numbers)| {
        let (tolerance_steps, bound_clocks, backups, k_batches) = numbers;
        let power = 0.5;
        GearOptions { decay, tolerance_steps, power, tokens, bound_clocks, backups, k_batches }
    });
    let sizes = (1..6_u32, 1..6_u32, 0..20_u64, 0..20_u64);
    let at = sizes.prop_map(|(local, per_step, step, next_batch)| Engagement {
        step: Step(step),
        next_batch: BatchId(next_batch),
        batch: BatchOptions { global: local * per_step, local },
    });
    let ending = prop_oneof![Just(Ending::DataExhausted), Just(Ending::ShiftRequested), Just(Ending::Both)];
    let choices = prop::collection::vec(any::<u16>(), 0..400);
    (options, at, 0..200_u64, 1..9_u32, ending, choices).prop_map(
        move |(options, at, samples, workers_max, ending, choices)| Setup {
            gear,
            options,
            at,
            samples,
            workers_max,
            ending,
            choices,
        },
    )
}
