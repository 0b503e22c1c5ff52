//! No package registry is named in the tree: cargo and pip know theirs, and a mirror must be able to stand in.

use std::path::Path;

use super::Finding;
use super::tree::Tree;

/// Written in two halves, so that this file is not found by itself.
const HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("docker", ".io"),
    concat!("gh", "cr.io"),
    concat!("quay", ".io"),
    concat!("anaconda", ".org"),
    concat!("download.py", "torch.org"),
    concat!("proxy.go", "lang.org"),
];

/// Lines that name a registry. The lock file, which cargo writes, is not looked at.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != Path::new("Cargo.lock")) {
        for (number, line) in file.lines() {
            for host in HOSTS.iter().filter(|host| line.contains(**host)) {
                let help = "name the package and let the client find its registry";
                findings.push(file.finding(number, format!("names the registry {host}"), help));
            }
        }
    }
    findings
}
