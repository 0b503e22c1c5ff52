//! `cargo xtask sim`: builds the search for faults and runs it. All arguments are its own.

use crate::cargo;
use crate::stage::program;

/// Arguments of `cargo xtask sim`, handed on as they are.
#[derive(Clone, Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct SimArgs {
    /// See `cargo xtask sim --help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<String>,
}

/// Builds the search in the release profile and runs it.
///
/// # Errors
/// When it cannot be built, or has found something.
pub fn run(args: &SimArgs) -> anyhow::Result<()> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "gearshift-sim",
        "--bin",
        "fault_search",
        "--",
    ]);
    program(command.args(&args.arguments))
}
