//! Settings that are allowed and probably not wanted.

use gearshift_coordination::{DecayKind, Gear};

use super::Job;

impl Job {
    /// What a person who knows the method would point out before the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let gears = || std::iter::once(self.gear.start).chain(self.shift.iter().map(|shift| shift.to));
        let batches = self.batch.global / self.batch.local;
        let workers = self.cluster.workers;
        let guarded = self.gear.options.decay == DecayKind::VersionPower;
        let unguarded = |gear| gear == Gear::KBatch || (gear == Gear::Gba && !guarded);
        if workers > batches && gears().any(unguarded) {
            let local = self.batch.global / (2 * workers).min(self.batch.global);
            let local = (1..=local).rev().find(|local| self.batch.global.is_multiple_of(*local)).unwrap_or(1);
            warnings.push(format!(
                "cluster.workers = {workers} is more than the {batches} local batches of a global batch: pulled \
                 parameters are about {:.1} steps old, which tokens do not see; use batch.local = {local}, or \
                 gear.decay = \"version_power\" with the gba gear",
                0.9 * f64::from(workers) / f64::from(batches)
            ));
        }
        warnings
    }
}
