//! Crates depend downwards only: the table of layers against what cargo says of the manifests.

use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Finding;
use super::tree::{File, Tree};

const TYPES: &str = "gearshift-types";
const COORDINATION: &str = "gearshift-coordination";
const EMBEDDING: &str = "gearshift-embedding";
const MODEL: &str = "gearshift-model";
const DATA: &str = "gearshift-data";
const CLUSTER: &str = "gearshift-cluster";
const RUNTIME: &str = "gearshift-runtime";
const SIM: &str = "gearshift-sim";

/// What each crate may use of ours, in layers from the ground up.
const LAYERS: &[(&str, &[&str])] = &[
    (TYPES, &[]),
    (COORDINATION, &[TYPES]),
    (EMBEDDING, &[TYPES]),
    (MODEL, &[TYPES]),
    (DATA, &[TYPES]),
    (CLUSTER, &[TYPES, COORDINATION, EMBEDDING, MODEL, DATA]),
    (RUNTIME, &[TYPES, COORDINATION, EMBEDDING, MODEL, DATA, CLUSTER]),
    (SIM, &[TYPES, COORDINATION, EMBEDDING, MODEL, DATA, CLUSTER]),
    ("gearshift", &[TYPES, COORDINATION, EMBEDDING, MODEL, DATA, CLUSTER, RUNTIME, SIM]),
    ("xtask", &[]),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: std::path::PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<String>,
}

/// Dependencies (not those of tests) that point upwards or sideways, and crates without a layer.
///
/// # Errors
/// When cargo cannot describe the workspace.
pub fn check(tree: &Tree) -> anyhow::Result<Vec<Finding>> {
    if tree.file("Cargo.toml").is_none() {
        return Ok(Vec::new());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(&tree.root)
        .output()
        .context("cargo metadata cannot be started")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let root = tree.root.canonicalize()?;
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let path = package.manifest_path.canonicalize()?;
        let path = path.strip_prefix(&root).unwrap_or(&path);
        let manifest = tree.files.iter().find(|file| file.path == path);
        findings.extend(manifest.into_iter().flat_map(|manifest| judge(package, manifest)));
    }
    Ok(findings)
}

fn judge(package: &Package, manifest: &File) -> Vec<Finding> {
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == package.name) else {
        let what = format!("crate {} has no layer", package.name);
        return vec![manifest.finding(
            1,
            what,
            "add it to LAYERS in xtask/src/tidy/arrows.rs and to ARCHITECTURE.md",
        )];
    };
    let ours = package.dependencies.iter().filter(|found| found.path.is_some() && found.kind.is_none());
    ours.filter(|found| !allowed.contains(&found.name.as_str()))
        .map(|found| {
            let what = format!("{} may not use {}", package.name, found.name);
            let help = if allowed.is_empty() {
                "arrows between crates only point down: it may use none of ours".to_owned()
            } else {
                format!("arrows between crates only point down: it may use {}", allowed.join(", "))
            };
            manifest.finding(manifest.line_with(&found.name), what, &help)
        })
        .collect()
}
