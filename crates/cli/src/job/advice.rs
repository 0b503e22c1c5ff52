//! Settings that are allowed and probably not wanted.

use super::Job;

impl Job {
    /// What a person who knows the method would point out before the run, about the gears that the job uses.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let gears = std::iter::once(self.gear.start).chain(self.shift.iter().map(|shift| shift.to));
        let mut warnings: Vec<String> = Vec::new();
        for gear in gears {
            let advice =
                gearshift_coordination::advice(gear, &self.gear.options, self.batch, self.cluster.workers);
            for warning in advice {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        warnings
    }
}
