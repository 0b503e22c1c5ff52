//! weights: each gradient has the weight that its gear promises. 1 in all gears but gba; there by the decay: hard,
//! 1 if step at commit - token <= tolerance, else 0; power, (1 + s)^-a; version_power, (1 + v)^-a; none, 1. A refused
//! gradient has 0. The divisor is the samples of all members, those without weight included (DESIGN, section 5).

use std::rc::Rc;

use gearshift_cluster::LogMember;
use gearshift_coordination::{DecayKind, Gear, TokenKind};
use gearshift_types::Time;

use super::Check;
use super::books::Books;
use super::facts::{Fact, State, samples};
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Weights {
    told: Rc<Scenario>,
}

impl Weights {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told }
    }

    /// Weight of a gradient that was not refused.
    fn expected(&self, gear: Gear, step: u64, member: &LogMember) -> f64 {
        if gear != Gear::Gba {
            return 1.0;
        }
        let gears = &self.told.setup.scheduler.gears;
        let version = member.versions.iter().min().map_or(0, |version| version.0);
        let by_version = step as f64 - version as f64;
        let by_token = match gears.tokens {
            TokenKind::Position => step as f64 - member.token.0 as f64,
            TokenKind::Version => by_version,
        };
        let power = |staleness: f64| (1.0 + staleness.max(0.0)).powf(-f64::from(gears.power));
        match gears.decay {
            DecayKind::Hard => f64::from(u8::from(by_token <= f64::from(gears.tolerance_steps))),
            DecayKind::Power => power(by_token),
            DecayKind::None => 1.0,
            DecayKind::VersionPower => power(by_version),
        }
    }
}

impl Check for Weights {
    const NAME: &'static str = "weights";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let Moment::SchedulerSays { .. } = moment else { return Ok(()) };
        for entry in &books.facts {
            let Fact::Committed { step, divisor, members } = &entry.fact else { continue };
            let Some(gear) = entry.before.gear else {
                return Err(format!("step {step} is committed while no gear is in force"));
            };
            let mut sum = 0;
            for (member, granted) in members {
                sum += samples(&member.ranges);
                let failed = granted.as_ref().is_some_and(|granted| granted.state == State::Failed);
                let expected = if failed { 0.0 } else { self.expected(gear, *step, member) };
                if (f64::from(member.weight) - expected).abs() > 1e-6 {
                    return Err(format!(
                        "{gear}, step {step}: batch {} (token {}, versions {:?}, refused: {failed}) has weight {}, expected {expected}",
                        member.batch, member.token, member.versions, member.weight
                    ));
                }
            }
            if *divisor != sum {
                return Err(format!(
                    "{gear}, step {step}: the divisor is {divisor}, its members have {sum} samples"
                ));
            }
        }
        Ok(())
    }
}
