//! Files that the documents name exist: links, and paths in backquotes that begin at the root.

use std::path::Path;

use super::Finding;
use super::tree::{File, Tree};

/// First folders of the paths in backquotes that are checked.
const FOLDERS: &[&str] = &["crates", "docs", "examples", "xtask", "bench", "tests", ".ci", ".cargo"];

/// Files that are named and do not exist.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending("md") {
        for (number, line) in file.lines() {
            for target in links(line).filter(|target| !exists(tree, file, target)) {
                let what = format!("links to {target}, which does not exist");
                findings.push(file.finding(number, what, "name the file that took its place"));
            }
            for path in paths(line).filter(|path| !tree.root.join(path).exists()) {
                let what = format!("names {path}, which does not exist");
                findings.push(file.finding(number, what, "name the file that took its place"));
            }
        }
    }
    findings
}

/// Targets of `[text](target)` that are files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?.trim();
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        (!target.is_empty() && !elsewhere).then_some(target)
    })
}

fn exists(tree: &Tree, file: &File, target: &str) -> bool {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    tree.root.join(folder).join(target).exists()
}

/// Paths in backquotes; patterns and line numbers are left out.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter_map(|quoted| {
        let path = quoted.split(':').next()?;
        let first = path.split_once('/')?.0;
        let pattern =
            path.contains(['*', '<', '{', ' ', '$', '#']) || path.contains("NNNN") || path.contains("NAME");
        (FOLDERS.contains(&first) && !pattern).then_some(path)
    })
}
