//! Layers with explicit forward and backward over row-major `[samples, width]` buffers that the caller owns.
//!
//! A backward pass gives sums over samples. Layers hold sizes and no parameters; those come as slices.

mod embedding;
mod fm;
mod linear;
mod log_loss;
mod mlp;
mod product;
mod vector;

pub use embedding::FieldLookup;
pub use fm::FactorizationMachine;
pub use linear::{Activation, Linear, Total};
pub use log_loss::{log_loss, sigmoid};
pub use mlp::{Mlp, MlpScratch};
pub use product::{View, ViewMut, multiply};
pub use vector::{add_scaled_rows, dot_rows, outer};
