//! `cargo xtask tidy`: the rules of the tree that no compiler knows. Also run as a plain test.
//!
//! One file per check. A finding names file and line, what is wrong and what to do.

pub mod arrows;
pub mod dependencies;
pub mod leftovers;
pub mod length;
pub mod links;
pub mod lints;
pub mod module_docs;
pub mod registries;
pub mod tree;
pub mod words;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use tree::Tree;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path.display(), self.line, self.what, self.help)
    }
}

/// All findings of the tree under `root`, sorted by file and line.
///
/// # Errors
/// When the tree cannot be read or cargo cannot describe it.
pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let tree = Tree::read(root)?;
    let mut findings = arrows::check(&tree)?;
    findings.extend(dependencies::check(&tree));
    findings.extend(leftovers::check(&tree));
    findings.extend(length::check(&tree));
    findings.extend(links::check(&tree));
    findings.extend(lints::check(&tree));
    findings.extend(module_docs::check(&tree));
    findings.extend(registries::check(&tree));
    findings.extend(words::check(&tree));
    findings.sort();
    Ok(findings)
}

/// Prints the findings.
///
/// # Errors
/// When there are any.
pub fn run() -> anyhow::Result<()> {
    let root = crate::root();
    let findings = check(&root)?;
    findings.iter().for_each(|finding| println!("{finding}"));
    ensure!(findings.is_empty(), "{} findings", findings.len());
    println!("tidy: nothing found");
    Ok(())
}
