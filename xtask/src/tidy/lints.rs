//! Every crate takes the lints of the workspace.

use super::Finding;
use super::tree::Tree;

/// Crates without `[lints] workspace = true`.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter(|file| file.path.file_name().is_some_and(|name| name == "Cargo.toml"))
        .filter_map(|file| {
            let manifest: toml::Table = match file.text.parse() {
                Ok(manifest) => manifest,
                Err(error) => return Some(file.finding(1, format!("not TOML: {error}"), "mend it")),
            };
            let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace"));
            let missing =
                manifest.contains_key("package") && inherits.and_then(toml::Value::as_bool) != Some(true);
            let line = file.line_with("[lints]");
            missing.then(|| {
                let what = "does not take the lints of the workspace".to_owned();
                file.finding(line, what, "add [lints] with workspace = true")
            })
        })
        .collect()
}
