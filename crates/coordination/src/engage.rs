//! From settings to a rule: checks, the rule object, and advice on settings that work but are not wise.

use crate::asynchronous::asynchronous;
use crate::backup_workers::backup_workers;
use crate::bounded_staleness::bounded_staleness;
use crate::error::GearError;
use crate::gba::gba;
use crate::k_batch::k_batch;
use crate::options::{BatchOptions, Engagement, Gear, GearOptions};
use crate::rule::Rule;
use crate::synchronous::synchronous;

/// Makes a fresh rule for `gear`: at the start, at each shift, at each part and at resume, with `at.step` as k0.
/// It knows no worker and no samples yet; tell it by `WorkerJoined` and `SamplesAvailable`.
///
/// # Errors
/// [`GearError`] on settings that the gear cannot run with, as [`check`].
///
/// ```
/// use gearshift_coordination::{BatchOptions, Decision, Engagement, Event, Gear, GearOptions, engage};
/// use gearshift_types::{BatchId, Step, Token, WorkerId};
///
/// let batch = BatchOptions { global: 1024, local: 64 };
/// let at = Engagement { step: Step(7), next_batch: BatchId(300), batch };
/// let mut rule = engage(Gear::Gba, &GearOptions::default(), at)?;
/// let (worker, mut decisions) = (WorkerId(0), Vec::new());
/// rule.on_event(Event::WorkerJoined { worker }, &mut decisions);
/// rule.on_event(Event::SamplesAvailable { samples: 5000 }, &mut decisions);
/// rule.on_event(Event::TokenRequested { worker }, &mut decisions);
/// let grant = Decision::Grant { worker, batch: BatchId(300), token: Token(7), samples: 64 };
/// assert_eq!(decisions, [grant]);
/// # Ok::<(), gearshift_coordination::GearError>(())
/// ```
pub fn engage(gear: Gear, options: &GearOptions, at: Engagement) -> Result<Box<dyn Rule>, GearError> {
    check(gear, options, at.batch)?;
    Ok(match gear {
        Gear::Synchronous => Box::new(synchronous(at)),
        Gear::Gba => Box::new(gba(options, at)),
        Gear::Asynchronous => Box::new(asynchronous(at)),
        Gear::BoundedStaleness => Box::new(bounded_staleness(options, at)),
        Gear::BackupWorkers => Box::new(backup_workers(options, at)),
        Gear::KBatch => Box::new(k_batch(options, at)),
    })
}

/// Checks the settings that `gear` reads, so that a job can be refused before it starts.
///
/// # Errors
/// [`GearError::ZeroSize`]: G, B (outside synchronous) or K (k_batch) is 0.
/// [`GearError::LocalDoesNotDivide`]: B does not divide G (outside synchronous).
/// [`GearError::Power`]: gba with an exponent that is not finite or is negative.
pub fn check(gear: Gear, options: &GearOptions, batch: BatchOptions) -> Result<(), GearError> {
    let BatchOptions { global, local } = batch;
    let zero = |setting| Err(GearError::ZeroSize { gear, setting });
    if global == 0 {
        return zero("batch.global");
    }
    if gear == Gear::Synchronous {
        return Ok(());
    }
    if local == 0 {
        return zero("batch.local");
    }
    if !global.is_multiple_of(local) {
        return Err(GearError::LocalDoesNotDivide { gear, global, local });
    }
    if gear == Gear::KBatch && options.k_batches == Some(0) {
        return zero("gear.k_batches");
    }
    if gear == Gear::Gba && !(options.power.is_finite() && options.power >= 0.0) {
        return Err(GearError::Power { gear, got: options.power });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: BatchOptions = BatchOptions { global: 8, local: 4 };

    fn refused(gear: Gear, options: &GearOptions, batch: BatchOptions) -> String {
        check(gear, options, batch).unwrap_err().to_string()
    }

    #[test]
    fn every_gear_engages_under_its_name() {
        for gear in Gear::ALL {
            let at = Engagement { batch: GOOD, step: Default::default(), next_batch: Default::default() };
            let rule = engage(gear, &GearOptions::default(), at).unwrap();
            assert_eq!(rule.gear(), gear);
            assert_eq!(gear.to_string().parse(), Ok(gear));
        }
        let text = "gab".parse::<Gear>().unwrap_err().to_string();
        assert!(text.contains("\"gab\"") && text.contains("gba") && text.contains("k_batch"), "{text}");
    }

    #[test]
    fn refusals_say_what_was_found_and_what_to_do() {
        let options = GearOptions::default();
        let odd = BatchOptions { global: 100, local: 32 };
        let text = refused(Gear::Gba, &options, odd);
        for part in ["gba", "local batch 32", "global batch 100", "leaves 4", "such as 25"] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
        assert_eq!(check(Gear::Synchronous, &options, odd), Ok(()), "synchronous has no local batch");
        let larger = BatchOptions { global: 4, local: 8 };
        assert!(refused(Gear::Asynchronous, &options, larger).contains("such as 4"));
        let none = BatchOptions { global: 0, local: 0 };
        assert!(refused(Gear::Synchronous, &options, none).contains("batch.global is 0"));
        let none = BatchOptions { global: 8, local: 0 };
        assert!(refused(Gear::BackupWorkers, &options, none).contains("batch.local is 0"));
        let k0 = GearOptions { k_batches: Some(0), ..GearOptions::default() };
        assert!(refused(Gear::KBatch, &k0, GOOD).contains("gear.k_batches is 0"));
        assert_eq!(check(Gear::Gba, &k0, GOOD), Ok(()), "gba does not read k_batches");
        for power in [f32::NAN, f32::INFINITY, -0.5] {
            let options = GearOptions { power, ..GearOptions::default() };
            assert!(refused(Gear::Gba, &options, GOOD).contains("gear.power is"));
        }
    }
}
