//! Development commands: verify, fix, bench, tidy.
fn main() {}
