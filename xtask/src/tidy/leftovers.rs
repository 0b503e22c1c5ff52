//! Nothing is left for later in the tree: what is not done is an issue, not a comment.

use super::Finding;
use super::tree::Tree;

/// Written in two halves, so that this file is not found by itself.
const MARKS: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("to", "do!("), concat!("unimple", "mented!(")];

/// Lines with such a mark.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            for mark in MARKS.iter().filter(|mark| stands_alone(line, mark)) {
                findings.push(file.finding(
                    number,
                    format!("{mark} left over"),
                    "do it now or file an issue",
                ));
            }
        }
    }
    findings
}

/// Whether `mark` is in `line` as a word of its own.
fn stands_alone(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        let inside = |letter: char| letter.is_alphanumeric() || letter == '_';
        let before = line[..at].chars().next_back().is_some_and(inside);
        let after = !mark.ends_with('(') && line[at + mark.len()..].chars().next().is_some_and(inside);
        !before && !after
    })
}
