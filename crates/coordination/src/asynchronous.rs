//! asynchronous: a worker starts at once, every push is an update of its own with weight 1 and its own samples
//! as divisor. The same as gba with M = 1 and no decay; tokens are stamped for the reports only.

use gearshift_types::{Step, Token};

use crate::arrivals::Arrivals;
use crate::buffer::Held;
use crate::flow::{Flow, Terms};
use crate::options::{Engagement, Gear};

/// Terms of the gears that make every push an update.
pub(crate) struct EveryPush {
    /// Which of them.
    pub(crate) gear: Gear,
}

/// The rule.
pub(crate) fn asynchronous(at: Engagement) -> Flow<EveryPush, Arrivals> {
    Flow::new(EveryPush { gear: Gear::Asynchronous }, Arrivals::default(), at, 1)
}

impl Terms for EveryPush {
    fn gear(&self) -> Gear {
        self.gear
    }

    fn token(&self, position: Token, _: Step) -> Token {
        position
    }

    fn weight(&self, _: Step, _: &Held, _: Step) -> f32 {
        1.0
    }
}
