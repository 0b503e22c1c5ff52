//! The tree is tidy, and each check notices what it is there for.

use xtask::tidy::{Finding, check};

#[test]
fn the_tree_is_tidy() {
    let findings = check(&xtask::root()).unwrap();
    let shown: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), shown.join("\n"));
}

/// A small tree without a finding.
const GOOD: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\nserde = \"1\"\n\
         gearshift-types = { path = \"crates/types\" }\ngearshift-data = { path = \"crates/data\" }\n",
    ),
    (
        "crates/types/Cargo.toml",
        "[package]\nname = \"gearshift-types\"\nversion = \"0.1.0\"\n[lints]\nworkspace = true\n[dependencies]\n",
    ),
    (
        "crates/data/Cargo.toml",
        "[package]\nname = \"gearshift-data\"\nversion = \"0.1.0\"\n[lints]\nworkspace = true\n\
         [dependencies]\ngearshift-types.workspace = true\n",
    ),
    ("crates/types/src/lib.rs", "//! Nouns.\n"),
    ("crates/data/src/lib.rs", "//! Readers.\n\nfn read() {}\n"),
    ("README.md", "[why](docs/decisions/dependencies.md), `crates/data/src/lib.rs:3`, `crates/*`\n"),
    ("docs/decisions/dependencies.md", "| `serde` | why |\n"),
];

/// The findings of the good tree with some of its files changed or new ones added.
fn planted_all(planted: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lint_table = format!("{}[workspace.lints.rust]\n", GOOD[0].1);
    let root = [("Cargo.toml", lint_table.as_str())];
    for (path, text) in GOOD[1..].iter().chain(&root).chain(planted) {
        let path = folder.path().join(path);
        let parent = path.parent().expect("a path in the folder");
        std::fs::create_dir_all(parent).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }
    let findings = check(folder.path()).expect("the tree can be read");
    findings.iter().map(Finding::to_string).collect()
}

/// The findings after `path` has been given `text`.
fn planted(path: &str, text: &str) -> Vec<String> {
    planted_all(&[(path, text)])
}

#[track_caller]
fn finds(path: &str, text: &str, expected: &str) {
    let found = planted(path, text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(expected), "{found:#?}");
}

#[test]
fn the_good_tree_has_none() {
    assert_eq!(planted_all(&[]), Vec::<String>::new());
}

#[test]
fn arrows() {
    let upwards = GOOD[1].1.to_owned() + "gearshift-data.workspace = true\n";
    // A circle would stop cargo: the arrow downwards is taken away.
    let apart = GOOD[2].1.replace("gearshift-types.workspace = true\n", "");
    let found = planted_all(&[("crates/types/Cargo.toml", &upwards), ("crates/data/Cargo.toml", &apart)]);
    assert_eq!(found.len(), 1, "{found:#?}");
    let expected = "crates/types/Cargo.toml:7: gearshift-types may not use gearshift-data";
    assert!(found[0].starts_with(expected), "{found:#?}");
    let tests_only =
        GOOD[1].1.replace("[dependencies]", "[dev-dependencies]\ngearshift-data.workspace = true");
    assert_eq!(planted("crates/types/Cargo.toml", &tests_only), Vec::<String>::new());
}

#[test]
fn a_crate_without_a_layer() {
    let folder_name = "crates/extra/Cargo.toml";
    let found = planted(
        folder_name,
        "[package]\nname = \"extra\"\nversion = \"0.1.0\"\n[lints]\nworkspace = true\n[[bin]]\nname = \"extra\"\npath = \"x.rs\"\n",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("crates/extra/Cargo.toml:1: crate extra has no layer; add it to LAYERS"),
        "{found:#?}"
    );
}

#[test]
fn lints() {
    let text = GOOD[2].1.replace("[lints]\nworkspace = true\n", "");
    finds(
        "crates/data/Cargo.toml",
        &text,
        "crates/data/Cargo.toml:1: does not take the lints of the workspace",
    );
}

#[test]
fn module_docs() {
    finds(
        "crates/data/src/lib.rs",
        "\n//!\nfn read() {}\n",
        "crates/data/src/lib.rs:1: does not begin with a module doc",
    );
}

#[test]
fn length() {
    let text = format!("//! Long.\n{}", "\n".repeat(700));
    finds("crates/data/src/lib.rs", &text, "crates/data/src/lib.rs:701: 701 lines, more than 700");
    assert_eq!(
        planted("crates/data/src/lib.rs", &format!("//! Long.\n{}", "\n".repeat(699))),
        Vec::<String>::new()
    );
}

#[test]
fn words() {
    finds(
        "crates/data/src/lib.rs",
        "//! A.\nfn pageManager() {}\n",
        "crates/data/src/lib.rs:2: the word \"manager\"; name what",
    );
    finds(
        "crates/data/src/lib.rs",
        "//! A.\nuse torch_utils::x;\n",
        "crates/data/src/lib.rs:2: the word \"utils\"",
    );
    finds("docs/x.md", "They have much in common.\n", "docs/x.md:1: the word \"common\"");
    finds("crates/data/src/helpers.rs", "//! A.\n", "crates/data/src/helpers.rs:1: the word \"helpers\"");
    assert_eq!(planted("docs/GLOSSARY.md", "Never: node.\n"), Vec::<String>::new());
    assert_eq!(planted("docs/x.md", "uncommonly masterly nodes_module\n").len(), 1);
}

#[test]
fn leftovers() {
    let mark = concat!("TO", "DO");
    finds("docs/x.md", &format!("one\ntwo {mark}: three\n"), &format!("docs/x.md:2: {mark} left over"));
    let call = concat!("to", "do!()");
    finds("crates/data/src/lib.rs", &format!("//! A.\nfn x() {{ {call} }}\n"), "crates/data/src/lib.rs:2: ");
    assert_eq!(planted("docs/x.md", &format!("{mark}S and {mark}_LIST\n")), Vec::<String>::new());
}

#[test]
fn registries() {
    let host = concat!("py", "pi.org");
    finds("bench/x.py", &format!("# {host}\n"), &format!("bench/x.py:1: names the registry {host}"));
    assert_eq!(planted("Cargo.lock", &format!("# {host}\n")), Vec::<String>::new());
}

#[test]
fn links() {
    finds("docs/x.md", "a\n[b](nothing.md#part)\n", "docs/x.md:2: links to nothing.md, which does not exist");
    finds("docs/x.md", "see `crates/data/src/gone.rs`\n", "docs/x.md:1: names crates/data/src/gone.rs");
    let fine =
        "[a](../README.md#top) [b](https://example.net/x) `crates/*/x` `crates/data/src/NAME.rs` [c](#d)\n";
    assert_eq!(planted("docs/x.md", fine), Vec::<String>::new());
}

#[test]
fn dependencies() {
    let document = "docs/decisions/dependencies.md";
    let expected = "Cargo.toml:4: serde has no line in docs/decisions/dependencies.md";
    finds(
        document,
        "| `serde` | a |\n| `old` | b |\n",
        "docs/decisions/dependencies.md:2: old is no dependency",
    );
    let found = planted(document, "none\n");
    assert!(found.len() == 1 && found[0].starts_with(expected), "{found:#?}");
    let own = GOOD[2].1.to_owned() + "serde = \"1\"\n";
    finds("crates/data/Cargo.toml", &own, "crates/data/Cargo.toml:8: serde has a version of its own");
}
