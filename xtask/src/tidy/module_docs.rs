//! Every Rust file says first what it is for.

use super::Finding;
use super::tree::Tree;

/// Files whose first line is no module doc.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending("rs")
        .filter(|file| {
            file.text.lines().find(|line| !line.trim().is_empty()).is_none_or(|line| !is_doc(line))
        })
        .map(|file| {
            let what = "does not begin with a module doc".to_owned();
            file.finding(1, what, "say in its first line, after `//!`, what the file is for")
        })
        .collect()
}

fn is_doc(line: &str) -> bool {
    line.strip_prefix("//!").is_some_and(|doc| !doc.trim().is_empty())
}
