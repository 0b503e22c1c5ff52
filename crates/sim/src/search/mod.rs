//! Looks for runs in which something does not hold: a scenario is drawn from a seed, run, and watched by all
//! checkers. The same seed gives the same run, so a failure is repeated by its seed alone.

mod data;
mod dice;
mod draw;
mod matrix;
pub mod planted;
mod scenario;
mod tally;
mod trace;
mod world;

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use gearshift_cluster::SchedulerInput;
use gearshift_coordination::Gear;
use gearshift_types::Time;

use crate::checks;
use crate::moment::{Tamper, Watcher};
use crate::simulation::{SimError, Simulation};

pub use data::Data;
pub use matrix::{Strike, single_fault};
pub use scenario::{Hand, Scenario};
pub use tally::{Stats, fault_name};
pub use trace::Tracer;
pub use world::TinyWorld;

/// Events after which a run counts as one that does not end.
const EVENTS_MAX: u64 = 3_000_000;

/// A run in which something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The gear that the scenario was drawn for.
    pub gear: Option<Gear>,
    /// Its seed.
    pub seed: u64,
    /// The invariant, or `panic`, `server` or `world` when a machine gave up by itself.
    pub checker: String,
    /// When and what.
    pub message: String,
}

impl Failure {
    /// The command that repeats the run.
    #[must_use]
    pub fn command(&self) -> String {
        let gear = self.gear.map(|gear| format!(" --gear {gear}")).unwrap_or_default();
        format!("cargo xtask sim{gear} --seed {}", self.seed)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not hold: {}\nrepeat with: {}", self.checker, self.message, self.command())
    }
}

/// Runs a scenario under all checkers.
///
/// # Errors
/// What does not hold, and how to repeat it.
pub fn run(scenario: &Rc<Scenario>) -> Result<Stats, Failure> {
    run_watched(scenario, scenario, Vec::new(), None)
}

/// The same with more watchers, with checkers that are told of another scenario than the one that runs, and with a
/// planted bug.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    scenario: &Rc<Scenario>,
    told: &Rc<Scenario>,
    mut watchers: Vec<Box<dyn Watcher>>,
    bug: Option<Box<dyn Tamper>>,
) -> Result<Stats, Failure> {
    let tally = tally::Tally::default();
    watchers.push(Box::new(tally.clone()));
    watchers.extend(checks::all(told));
    let fail = |checker: &str, message: String| Failure {
        gear: scenario.gear,
        seed: scenario.seed,
        checker: checker.to_owned(),
        message,
    };
    let last = Rc::new(RefCell::new(Time(0)));
    let ran = catch_unwind(AssertUnwindSafe(|| drive(scenario, watchers, bug, &last)));
    match ran {
        Ok(Ok(())) => {
            let mut stats = tally.0.borrow().clone();
            stats.runs = 1;
            Ok(stats)
        }
        Ok(Err(error)) => {
            let message = error.to_string();
            Err(match error {
                SimError::Watcher { text, .. } => fail(text.split(':').next().unwrap_or_default(), message),
                SimError::Stuck { .. } | SimError::Idle { .. } => fail("progress", message),
                SimError::Server { .. } => fail("server", message),
                SimError::World(_) => fail("world", message),
            })
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text =
                text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text");
            let seconds = last.borrow().0 as f64 * 1e-9;
            Err(fail("panic", format!("after {seconds:.6} virtual seconds: {text}")))
        }
    }
}

fn drive(
    scenario: &Scenario,
    watchers: Vec<Box<dyn Watcher>>,
    bug: Option<Box<dyn Tamper>>,
    last: &RefCell<Time>,
) -> Result<(), SimError> {
    let world = TinyWorld::new(scenario, scenario.setup.scheduler.servers).map_err(SimError::World)?;
    let mut simulation = Simulation::watched(scenario.setup.clone(), world, watchers, bug)?;
    let mut hands = scenario.hands.iter().peekable();
    for _ in 0..EVENTS_MAX {
        *last.borrow_mut() = simulation.now();
        if let Some((_, hand)) = hands.next_if(|(at, _)| *at <= simulation.now().0 as f64 * 1e-9) {
            simulation.tell_scheduler(match hand {
                Hand::Shift(to) => SchedulerInput::ShiftRequested { to: *to },
                Hand::Stop => SchedulerInput::StopRequested,
            })?;
        }
        if !simulation.advance()? {
            return simulation.run().map(drop);
        }
    }
    Err(SimError::Stuck {
        now: simulation.now(),
        text: format!("the run does not end within {EVENTS_MAX} events; {}", simulation.describe()),
    })
}
