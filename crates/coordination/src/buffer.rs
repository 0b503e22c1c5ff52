//! Gradients that have arrived, and the commit that is made of them.

use gearshift_types::{BatchId, Commit, Member, Step, Token};

use crate::leases::Lease;

/// A gradient that all servers hold, or whose place is used up by a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held {
    /// Its batch.
    pub(crate) batch: BatchId,
    /// The step it counts toward.
    pub(crate) token: Token,
    /// Samples that count in the divisor: as pushed, or as granted when it failed.
    pub(crate) samples: u32,
    /// Version at pull; `None` when the gradient failed.
    pub(crate) version: Option<Step>,
}

impl Held {
    /// A gradient over `samples` of the leased samples.
    pub(crate) fn pushed(batch: BatchId, lease: &Lease, samples: u32, version: Step) -> Self {
        assert!(
            samples <= lease.samples,
            "batch {batch} was pushed with {samples} samples but only {} were granted",
            lease.samples
        );
        Self { batch, token: lease.token, samples, version: Some(version) }
    }

    /// A gradient that was refused.
    pub(crate) fn failed(batch: BatchId, lease: &Lease) -> Self {
        Self { batch, token: lease.token, samples: lease.samples, version: None }
    }
}

/// The commit that makes `step` into the next one. Members stand in the order of `held`; `weight` is asked for
/// those that did not fail. All samples count in the divisor, so a drop shrinks the update and never raises the
/// weight of the others. Without any sample there is nothing to divide: all weights are 0.
pub(crate) fn commit<'a>(
    step: Step,
    held: impl IntoIterator<Item = &'a Held>,
    weight: impl Fn(&Held, Step) -> f32,
) -> Commit {
    let mut divisor_samples = 0;
    let mut members = Vec::new();
    for gradient in held {
        divisor_samples += u64::from(gradient.samples);
        let weight = gradient.version.map_or(0.0, |version| weight(gradient, version));
        assert!((0.0..=1.0).contains(&weight), "batch {} was given weight {weight}", gradient.batch);
        members.push(Member { batch: gradient.batch, weight });
    }
    assert!(!members.is_empty(), "step {step} would be committed without any gradient");
    if divisor_samples == 0 {
        members.iter_mut().for_each(|member| member.weight = 0.0);
    }
    Commit { step, members, divisor_samples }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gearshift_types::WorkerId;

    fn lease(samples: u32) -> Lease {
        Lease { worker: WorkerId(0), token: Token(3), samples }
    }

    #[test]
    fn failed_gradients_keep_their_samples_in_the_divisor() {
        let held = [Held::pushed(BatchId(0), &lease(4), 3, Step(3)), Held::failed(BatchId(1), &lease(4))];
        let commit = commit(Step(3), &held, |_, _| 1.0);
        assert_eq!(commit.divisor_samples, 7);
        assert_eq!(commit.members.iter().map(|member| member.weight).collect::<Vec<_>>(), [1.0, 0.0]);
    }

    #[test]
    fn nothing_is_divided_by_zero_samples() {
        let held = [Held::pushed(BatchId(0), &lease(4), 0, Step(3))];
        let commit = commit(Step(3), &held, |_, _| 1.0);
        assert_eq!((commit.divisor_samples, commit.members[0].weight), (0, 0.0));
    }
}
