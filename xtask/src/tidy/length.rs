//! Files stay short enough to be read in one go. (The length of functions is clippy's.)

use super::Finding;
use super::tree::Tree;

/// Largest number of lines of a Rust or Python file.
pub const LINES_MAX: usize = 700;

/// Files that are too long.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let long = |lines: usize| lines > LINES_MAX;
    tree.ending("rs")
        .chain(tree.ending("py"))
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| long(*lines))
        .map(|(file, lines)| {
            let what = format!("{lines} lines, more than {LINES_MAX}");
            file.finding(LINES_MAX + 1, what, "find the two files that it is; about 150 lines read well")
        })
        .collect()
}
