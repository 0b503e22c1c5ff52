//! The best AUC that any model can reach on generated data: the teacher's own.

use super::teacher::{Sample, Teacher};
use crate::options::GeneratorOptions;

/// Exact AUC of the teacher's probabilities on the first `samples` samples of part `part`; NaN without both labels
/// among them. Equal to the Mann-Whitney statistic over positives times negatives, ties counting one half (Hanley
/// and McNeil, Radiology 143, 1982).
#[must_use]
pub fn teacher_auc(options: &GeneratorOptions, seed: u64, part: u32, samples: u64) -> f64 {
    let teacher = Teacher::new(options, seed);
    let day = teacher.day(part);
    let mut sample = Sample::default();
    let mut scored: Vec<(f32, bool)> = (0..samples)
        .map(|row| {
            day.sample(row, &mut sample);
            (sample.logit, sample.clicked)
        })
        .collect();
    auc(&mut scored)
}

fn auc(scored: &mut [(f32, bool)]) -> f64 {
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut negatives, mut positives, mut wins) = (0_u64, 0_u64, 0.0);
    for ties in scored.chunk_by(|a, b| a.0 == b.0) {
        let clicked = ties.iter().filter(|(_, clicked)| *clicked).count() as u64;
        let not = ties.len() as u64 - clicked;
        wins += clicked as f64 * (negatives as f64 + not as f64 / 2.0);
        positives += clicked;
        negatives += not;
    }
    wins / (positives as f64 * negatives as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_by_hand_with_ties() {
        let mut scored = [(0.1, false), (0.4, false), (0.35, true), (0.8, true)];
        assert_eq!(auc(&mut scored), 0.75);
        let mut tied = [(1.0, true), (1.0, false), (0.0, false)];
        assert_eq!(auc(&mut tied), 0.75);
        assert!(auc(&mut [(1.0, true)]).is_nan());
    }

    #[test]
    fn the_teacher_of_the_defaults_is_good_but_not_perfect() {
        for seed in 0..4 {
            let auc = teacher_auc(&GeneratorOptions::default(), seed, 0, 20_000);
            assert!((0.78..0.92).contains(&auc), "seed {seed}: {auc}");
        }
    }
}
