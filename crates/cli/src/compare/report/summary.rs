//! What a branch's runs come to, each seed compared with the run of the same seed that stays in the base's gear.

use std::collections::BTreeSet;

use gearshift_cluster::{SampleCounts, StalenessHistogram};
use gearshift_sim::compare::{PartRun, Point};

use super::{Branch, Moments, Run};

/// A place at which runs are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointKey {
    /// The part, the first after the base is 0.
    pub(crate) part: u32,
    /// Millionths of the part that were trained.
    millionths: u32,
}

impl PointKey {
    /// Of a share of a part, 0 to 1.
    pub(crate) fn new(part: u32, share: f64) -> Self {
        Self { part, millionths: (share.clamp(0.0, 1.0) * 1e6).round() as u32 }
    }

    /// Share of the part, 0 to 1.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }

    /// Whether it is the end of a part.
    pub(crate) fn is_end(self) -> bool {
        self.millionths == 1_000_000
    }

    /// Parts trained since the base, with the fraction.
    pub(crate) fn parts(self) -> f64 {
        f64::from(self.part) + self.share()
    }

    /// `10 %` of the first part, `end 2`.
    pub(crate) fn name(self) -> String {
        match (self.is_end(), self.part) {
            (true, part) => format!("end {}", part + 1),
            (false, 0) => format!("{} %", self.share() * 100.0),
            (false, part) => format!("{}+{} %", part, self.share() * 100.0),
        }
    }
}

/// All seeds at one place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PointSummary {
    /// Where.
    pub(crate) key: PointKey,
    /// Samples that had met their fate, mean over seeds.
    pub(crate) samples: f64,
    /// AUC; `None` when no seed has one.
    pub(crate) auc: Option<Moments>,
    /// AUC minus that of the reference with the same seed; `None` when no seed has both.
    pub(crate) delta: Option<Moments>,
}

/// A branch over all seeds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// By place: early ones of the first part, then the ends of parts.
    pub(crate) points: Vec<PointSummary>,
    /// Over seeds, of the mean delta over the ends of parts. Seeds that lack an end are left out.
    pub(crate) mean_delta: Option<Moments>,
    /// The lowest mean delta before the end of the first part, and where.
    pub(crate) worst_early: Option<(PointKey, f64)>,
    /// The ledger over all parts and seeds.
    pub(crate) samples: SampleCounts,
    /// Samples in the parameters per virtual second, by seed.
    pub(crate) per_second: Option<Moments>,
    /// The same per worker, over that of the reference, by seed: branches may have more workers.
    pub(crate) speed: Option<Moments>,
    /// Updates of a run, mean over seeds.
    pub(crate) updates: Option<f64>,
    /// Updates of the reference over the same seeds, mean.
    pub(crate) updates_reference: Option<f64>,
    /// Step at commit minus token, over all parts and seeds.
    pub(crate) token: StalenessHistogram,
    /// Step at commit minus version at pull.
    pub(crate) version: StalenessHistogram,
}

impl Summary {
    /// Computes it. `reference` stays in the base's gear; parts before `base_parts` are left out.
    pub(crate) fn new(branch: &Branch, reference: Option<&Branch>, base_parts: u32) -> Self {
        let pairs: Vec<(&Run, Option<&Run>)> =
            branch.runs.iter().map(|run| (run, reference.and_then(|other| other.run(run.seed)))).collect();
        let keys = keys(&pairs, base_parts);
        let points: Vec<PointSummary> = keys.iter().map(|key| point(*key, &pairs, base_parts)).collect();
        let ends: Vec<PointKey> = keys.iter().copied().filter(|key| key.is_end()).collect();
        let mean_delta = pairs.iter().filter_map(|&(run, other)| {
            let deltas: Option<Vec<f64>> =
                ends.iter().map(|key| delta(run, other?, *key, base_parts)).collect();
            deltas
                .filter(|deltas| !deltas.is_empty())
                .map(|deltas| deltas.iter().sum::<f64>() / deltas.len() as f64)
        });
        let early = points.iter().filter(|point| point.key.part == 0 && !point.key.is_end());
        let worst_early = early
            .filter_map(|point| Some((point.key, point.delta?.mean)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b));
        let speeds = pairs.iter().filter_map(|&(run, other)| {
            let workers = reference.map_or(1.0, |reference| {
                f64::from(branch.workers.max(1)) / f64::from(reference.workers.max(1))
            });
            Some(ratio(per_second(run, base_parts)? / workers, per_second(other?, base_parts)?))
        });
        let parts = || branch.runs.iter().flat_map(|run| after(run, base_parts));
        Self {
            mean_delta: Moments::of(mean_delta),
            worst_early,
            samples: samples(parts()),
            per_second: Moments::of(pairs.iter().filter_map(|(run, _)| per_second(run, base_parts))),
            speed: Moments::of(speeds),
            updates: Moments::of(pairs.iter().map(|(run, _)| updates(run, base_parts))).map(|of| of.mean),
            updates_reference: Moments::of(
                pairs.iter().filter_map(|(_, other)| other.map(|other| updates(other, base_parts))),
            )
            .map(|of| of.mean),
            token: merged(parts().map(|part| &part.report.figures.token_staleness_steps)),
            version: merged(parts().map(|part| &part.report.figures.version_staleness_steps)),
            points,
        }
    }

    /// The figures at one place.
    pub(crate) fn point(&self, key: PointKey) -> Option<&PointSummary> {
        self.points.iter().find(|point| point.key == key)
    }

    /// Samples that met their fate and are not in the parameters.
    pub(crate) fn lost(&self) -> u64 {
        self.samples.dropped + self.samples.discarded + self.samples.failed
    }

    /// The same as a share of all that met their fate; `None` when none did.
    pub(crate) fn lost_share(&self) -> Option<f64> {
        let resolved = self.samples.resolved();
        (resolved > 0).then(|| self.lost() as f64 / resolved as f64)
    }

    /// Updates over those of the reference.
    pub(crate) fn updates_ratio(&self) -> Option<f64> {
        let ratio = ratio(self.updates?, self.updates_reference?);
        ratio.is_finite().then_some(ratio)
    }
}

/// The places of a branch and its reference: early ones of the first part, then the ends of parts.
fn keys(pairs: &[(&Run, Option<&Run>)], base_parts: u32) -> Vec<PointKey> {
    let runs = pairs.iter().flat_map(|(run, other)| std::iter::once(*run).chain(*other));
    let keys: BTreeSet<PointKey> = runs
        .flat_map(|run| after(run, base_parts))
        .flat_map(|part| {
            part.points.iter().map(move |point| PointKey::new(part.part - base_parts, point.share))
        })
        .filter(|key| key.part == 0 || key.is_end())
        .collect();
    keys.into_iter().collect()
}

fn after(run: &Run, base_parts: u32) -> impl Iterator<Item = &PartRun> {
    run.parts.iter().filter(move |part| part.part >= base_parts)
}

fn at(run: &Run, key: PointKey, base_parts: u32) -> Option<&Point> {
    let part = after(run, base_parts).find(|part| part.part - base_parts == key.part)?;
    part.points.iter().find(|point| PointKey::new(key.part, point.share) == key)
}

fn auc(run: &Run, key: PointKey, base_parts: u32) -> Option<f64> {
    at(run, key, base_parts)?.auc.filter(|auc| auc.is_finite())
}

fn delta(run: &Run, reference: &Run, key: PointKey, base_parts: u32) -> Option<f64> {
    Some(auc(run, key, base_parts)? - auc(reference, key, base_parts)?)
}

fn point(key: PointKey, pairs: &[(&Run, Option<&Run>)], base_parts: u32) -> PointSummary {
    let samples =
        pairs.iter().filter_map(|(run, _)| at(run, key, base_parts)).map(|point| point.samples as f64);
    let deltas = pairs.iter().filter_map(|(run, other)| delta(run, (*other)?, key, base_parts));
    PointSummary {
        key,
        samples: Moments::of(samples).map_or(f64::NAN, |of| of.mean),
        auc: Moments::of(pairs.iter().filter_map(|(run, _)| auc(run, key, base_parts))),
        delta: Moments::of(deltas),
    }
}

fn per_second(run: &Run, base_parts: u32) -> Option<f64> {
    let seconds: f64 = after(run, base_parts).map(|part| part.report.seconds).sum();
    let applied: u64 = after(run, base_parts).map(|part| part.report.samples.applied).sum();
    (seconds > 0.0).then(|| applied as f64 / seconds)
}

fn updates(run: &Run, base_parts: u32) -> f64 {
    after(run, base_parts).map(|part| part.report.steps).sum::<u64>() as f64
}

/// Not a number when there is nothing to compare with; such figures count nowhere.
fn ratio(figure: f64, reference: f64) -> f64 {
    if reference > 0.0 { figure / reference } else { f64::NAN }
}

fn samples<'a>(parts: impl Iterator<Item = &'a PartRun>) -> SampleCounts {
    parts.fold(SampleCounts::default(), |sum, part| {
        let part = part.report.samples;
        SampleCounts {
            read: sum.read + part.read,
            applied: sum.applied + part.applied,
            dropped: sum.dropped + part.dropped,
            discarded: sum.discarded + part.discarded,
            failed: sum.failed + part.failed,
            granted_again: sum.granted_again + part.granted_again,
        }
    })
}

fn merged<'a>(histograms: impl Iterator<Item = &'a StalenessHistogram>) -> StalenessHistogram {
    let mut all = StalenessHistogram::default();
    for (steps, count) in histograms.flat_map(|histogram| &histogram.0) {
        *all.0.entry(*steps).or_default() += count;
    }
    all
}

#[cfg(test)]
mod tests;
