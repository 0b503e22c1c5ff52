//! Advice on settings that a gear can run with but that cost accuracy or work.

use crate::k_batch::batches_per_step;
use crate::options::{BatchOptions, DecayKind, Gear, GearOptions, TokenKind};

/// Warnings for `gear` with `workers` (N) workers, each a sentence or two for the user; empty when all is well.
/// Settings that [`crate::check`] refuses get no advice.
#[must_use]
pub fn advice(gear: Gear, options: &GearOptions, batch: BatchOptions, workers: u32) -> Vec<String> {
    if workers == 0 || crate::check(gear, options, batch).is_err() {
        return Vec::new();
    }
    match gear {
        Gear::Synchronous => synchronous(batch, workers),
        Gear::Gba => gba(options, batch, workers),
        Gear::Asynchronous | Gear::BoundedStaleness => every_push(gear, batch),
        Gear::BackupWorkers => backup_workers(options, batch, workers),
        Gear::KBatch => k_batch(options, batch, workers),
    }
}

fn synchronous(batch: BatchOptions, workers: u32) -> Vec<String> {
    let idle = workers.saturating_sub(batch.global);
    Vec::from_iter((idle > 0).then(|| {
        format!(
            "synchronous: {workers} workers share a global batch of {} samples, so {idle} of them have nothing \
             to do in each step; use fewer workers or a larger batch.global.",
            batch.global
        )
    }))
}

/// Version staleness of about 0.9 N/M steps was measured; above N = M it costs accuracy, and position tokens do
/// not see it.
fn gba(options: &GearOptions, batch: BatchOptions, workers: u32) -> Vec<String> {
    let per_step = batch.global / batch.local;
    if workers <= per_step {
        return Vec::new();
    }
    let mut advice = vec![crowded("gba", per_step, batch, workers)];
    if options.decay != DecayKind::VersionPower {
        advice.push(
            "gba: where neither can be changed, decay = \"version_power\" with power = 0.5 guards against it: \
             position tokens do not see this staleness."
                .to_owned(),
        );
    }
    if options.tokens == TokenKind::Version {
        advice.push(format!(
            "gba: with tokens = \"version\" healthy workers read stale when there are more of them ({workers}) \
             than local batches per update ({per_step}), and lose their weight; use tokens = \"position\"."
        ));
    }
    advice
}

fn k_batch(options: &GearOptions, batch: BatchOptions, workers: u32) -> Vec<String> {
    let per_step = batches_per_step(options, batch);
    let samples = u64::from(per_step) * u64::from(batch.local);
    let mut advice = Vec::new();
    if samples != u64::from(batch.global) {
        advice.push(format!(
            "k_batch: {per_step} batches of {} samples make updates of {samples} samples, not of the global \
             batch of {}; settings tuned for it will not fit. Leave k_batches out to get {}.",
            batch.local,
            batch.global,
            batch.global / batch.local
        ));
    }
    if workers > per_step {
        advice.push(crowded("k_batch", per_step, batch, workers));
    }
    advice
}

fn every_push(gear: Gear, batch: BatchOptions) -> Vec<String> {
    Vec::from_iter((batch.local != batch.global).then(|| {
        format!(
            "{gear}: an update averages {} samples, not the global batch of {}; a learning rate tuned for it \
             will not fit. gba keeps it.",
            batch.local, batch.global
        )
    }))
}

fn backup_workers(options: &GearOptions, batch: BatchOptions, workers: u32) -> Vec<String> {
    let backups = options.backups;
    let mut advice = Vec::new();
    if backups >= workers {
        advice.push(format!(
            "backup_workers: {backups} backups among {workers} workers leave one gradient per step; use fewer \
             backups than workers."
        ));
    }
    let accepted = workers.saturating_sub(backups).max(1);
    let samples = u64::from(accepted) * u64::from(batch.local);
    if samples != u64::from(batch.global) {
        let per_step = batch.global / batch.local;
        advice.push(format!(
            "backup_workers: a step accepts {workers} - {backups} gradients of {} samples = {samples} samples, not \
             the global batch of {}; settings tuned for it will not fit. Use {} workers with {backups} backups.",
            batch.local,
            batch.global,
            u64::from(per_step) + u64::from(backups)
        ));
    }
    advice
}

/// More workers than local batches per update.
fn crowded(gear: &str, per_step: u32, batch: BatchOptions, workers: u32) -> String {
    let local = (u64::from(batch.global) / (2 * u64::from(workers))) as u32;
    let smaller = (1..=local).rev().find(|&size| batch.global.is_multiple_of(size));
    let remedy = match smaller {
        Some(size) => format!("batch.local = {size} gives M = {}", batch.global / size),
        None => format!("a global batch of {} is too small for {workers} workers", batch.global),
    };
    format!(
        "{gear}: {workers} workers but only M = {per_step} local batches per update: parameters are about {:.1} steps \
         old when their gradient is applied, which costs accuracy. Have M >= 2 x workers ({}): {remedy}; or use \
         fewer workers.",
        0.9 * f64::from(workers) / f64::from(per_step),
        2 * u64::from(workers)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: BatchOptions = BatchOptions { global: 1024, local: 64 };

    fn joined(gear: Gear, options: &GearOptions, workers: u32) -> String {
        advice(gear, options, BATCH, workers).join("\n")
    }

    #[test]
    fn gba_warns_above_m_workers_only() {
        let mut options = GearOptions::default();
        assert_eq!(joined(Gear::Gba, &options, 16), "");
        let text = joined(Gear::Gba, &options, 17);
        assert!(text.contains("17 workers but only M = 16"), "{text}");
        assert!(text.contains("(34): batch.local = 16 gives M = 64"), "{text}");
        assert!(text.contains("version_power"), "{text}");
        options.decay = DecayKind::VersionPower;
        options.tokens = TokenKind::Version;
        let text = joined(Gear::Gba, &options, 64);
        assert!(!text.contains("guards") && text.contains("tokens = \"position\""), "{text}");
    }

    #[test]
    fn backup_workers_wants_the_global_batch() {
        let options = GearOptions { backups: 2, ..GearOptions::default() };
        assert_eq!(joined(Gear::BackupWorkers, &options, 18), "");
        let text = joined(Gear::BackupWorkers, &options, 5);
        assert!(
            text.contains("5 - 2 gradients of 64 samples = 192") && text.contains("Use 18 workers"),
            "{text}"
        );
        assert!(joined(Gear::BackupWorkers, &options, 2).contains("fewer backups than workers"));
    }

    #[test]
    fn other_gears_are_told_when_updates_are_not_the_global_batch() {
        let options = GearOptions { k_batches: Some(4), ..GearOptions::default() };
        assert!(joined(Gear::KBatch, &options, 2).contains("updates of 256 samples"));
        assert!(joined(Gear::KBatch, &options, 5).contains("5 workers but only M = 4"));
        assert!(joined(Gear::Asynchronous, &options, 2).contains("averages 64 samples"));
        assert_eq!(joined(Gear::Synchronous, &options, 1024), "");
        assert!(joined(Gear::Synchronous, &options, 1025).contains("so 1 of them"));
        assert!(joined(Gear::Gba, &options, 0).is_empty());
    }
}
