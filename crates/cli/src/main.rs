//! The one binary `gearshift`.
fn main() {}
