//! The words of docs/GLOSSARY.md: some others are never used, in names, comments or prose, because they hide what
//! a thing is.

use std::path::Path;

use super::Finding;
use super::tree::Tree;

/// A word that is not used, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("common", "name what the parts have in them, or write \"shared\""),
    ("util", "name the file after what it does"),
    ("utils", "name the file after what it does"),
    ("utilities", "name the file after what it does"),
    ("manager", "name what it decides or holds: scheduler, server, ledger"),
    ("managers", "name what they decide or hold: scheduler, server, ledger"),
    ("helper", "name what it does"),
    ("helpers", "name what they do"),
    ("master", "write scheduler"),
    ("masters", "write scheduler"),
    ("slave", "write worker or server"),
    ("slaves", "write worker or server"),
    ("node", "write worker, server or scheduler"),
    ("nodes", "write workers, servers or schedulers"),
    ("aggregate", "write buffer, commit or apply, whichever it is"),
    ("aggregates", "write buffers, commits or applies, whichever it is"),
];

/// Where such a word is right: file (or folder) and a part of the line.
const ALLOWED: &[(&str, &str)] = &[
    ("docs/GLOSSARY.md", ""),
    ("xtask/src/tidy/words.rs", ""),
    ("xtask/tests/tidy.rs", ""),
    ("LICENSE-APACHE", ""),
    ("LICENSE-MIT", ""),
    ("Cargo.toml", "members"),
    ("", "gemm-common"),
    ("", "gemm_common"),
    ("", "torch.utils"),
    ("", "/master/"),
];

/// Banned words in the names and lines of files.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let path = file.path.to_string_lossy();
        let name = std::iter::once((1, path.as_ref()));
        for (number, line) in name.chain(file.lines()) {
            if is_allowed(&file.path, line) {
                continue;
            }
            for (word, instead) in BANNED.iter().filter(|(banned, _)| words(line).any(|word| word == *banned))
            {
                findings.push(file.finding(number, format!("the word {word:?}"), instead));
            }
        }
    }
    findings
}

fn is_allowed(path: &Path, line: &str) -> bool {
    ALLOWED.iter().any(|(place, part)| path.starts_with(place) && line.contains(part))
}

/// The words of a line in lower case; names are cut at underscores and at capitals.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in line.chars() {
        let starts = !letter.is_alphabetic() || (letter.is_uppercase() && after_small);
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphabetic(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
        after_small = letter.is_lowercase();
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_words() {
        let found: Vec<String> =
            words("let x_y = FooBar::new2(\"a-b\");").filter(|word| !word.is_empty()).collect();
        assert_eq!(found, ["let", "x", "y", "foo", "bar", "new", "a", "b"]);
    }
}
