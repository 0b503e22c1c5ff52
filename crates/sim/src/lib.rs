//! The cluster in virtual time: drives the same machines and rules as the runtime, from one seed.
//!
//! [`Simulation`] is the driver: a queue of events, a model of a cluster ([`cluster`]) that says how long everything
//! takes, faults, and a [`World`] that is either empty (thousands of workers, no arithmetic) or trains a real
//! model. [`compare`] runs a job part by part, so that gears can be compared. [`checks`] says what must hold in every
//! run, [`search`] looks for runs in which it does not.

pub mod checks;
pub mod cluster;
pub mod compare;
mod empty;
mod measure;
mod moment;
pub mod parts;
mod random;
mod report;
pub mod search;
mod shards;
mod simulation;
mod training;
mod world;

pub use empty::{EmptyLearner, EmptyStore, EmptyWorld};
pub use measure::{MeasureOptions, measure};
pub use moment::{Delivery, Moment, Tamper, Watcher};
pub use report::SimReport;
pub use simulation::{Checkpoint, Setup, SimError, Simulation};
pub use training::TrainingWorld;
pub use world::World;
