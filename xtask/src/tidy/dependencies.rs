//! Every third-party crate has its reason written down, and its one version in the root manifest.

use super::Finding;
use super::tree::Tree;

const DOCUMENT: &str = "docs/decisions/dependencies.md";

/// Dependencies without a reason, reasons without a dependency, versions outside the root manifest.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.file("Cargo.toml") else { return Vec::new() };
    let third_party = third_party(&root.text);
    let mut findings = Vec::new();
    let document = tree.file(DOCUMENT);
    let reasons: Vec<(usize, &str)> = document
        .into_iter()
        .flat_map(|file| file.lines())
        .filter_map(|(number, line)| Some((number, line.strip_prefix("| `")?.split('`').next()?)))
        .collect();
    for name in &third_party {
        if !reasons.iter().any(|(_, reason)| reason == name) {
            let what = format!("{name} has no line in {DOCUMENT}");
            findings.push(root.finding(
                root.line_with(&format!("{name} =")),
                what,
                "say there why we need it",
            ));
        }
    }
    for (file, (number, name)) in
        document.into_iter().flat_map(|file| reasons.iter().map(move |row| (file, row)))
    {
        if !third_party.iter().any(|known| known == name) {
            let what = format!("{name} is no dependency of the workspace");
            findings.push(file.finding(*number, what, "remove its line"));
        }
    }
    findings.extend(versions(tree));
    findings
}

fn third_party(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let dependencies = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let table = dependencies.and_then(toml::Value::as_table).cloned().unwrap_or_default();
    table.iter().filter(|(_, value)| value.get("path").is_none()).map(|(name, _)| name.clone()).collect()
}

/// Crates that name a version of their own.
fn versions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        let manifest: toml::Table = file.text.parse().unwrap_or_default();
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let table = manifest.get(section).and_then(toml::Value::as_table).cloned().unwrap_or_default();
            let own = |value: &toml::Value| value.is_str() || value.get("version").is_some();
            for (name, _) in table.iter().filter(|(_, value)| own(value)) {
                let what = format!("{name} has a version of its own");
                let help = "put it into [workspace.dependencies] and write workspace = true here";
                findings.push(file.finding(file.line_with(name), what, help));
            }
        }
    }
    findings
}
