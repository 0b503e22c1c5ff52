//! From a file and `--set`s to a [`ClusterFile`] and its variants.

use std::path::Path;

use super::key_list::CLUSTER_FILE;
use super::{ClusterFile, cross};
use crate::job::Problems;
use crate::job::keys::Keys;
use crate::job::read::{Source, check};
use crate::job::sets::Set;

/// The cluster of `gearshift simulate` without arguments.
const DEMO: &str = include_str!("demo.toml");

/// A cluster file and what was put over it.
#[derive(Debug)]
pub(crate) struct ClusterSource {
    source: Source,
    sets: Vec<Set>,
    pub(super) keys: Keys,
}

impl ClusterSource {
    /// Reads a cluster file (without `path`: the demonstration), to put `sets` (`key=value`) over it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(path: Option<&Path>, sets: &[String]) -> Result<Self, Problems> {
        let source = match path {
            None => Source::of_text("demonstration (built in)", DEMO, Path::new("")),
            Some(path) => Source::read(path, &CLUSTER_FILE)?,
        };
        Ok(Self::new(source, sets))
    }

    /// As [`ClusterSource::open`], from text.
    pub(crate) fn new(source: Source, sets: &[String]) -> Self {
        let sets = sets.iter().map(|set| Set::of_command(set)).collect();
        Self { source, sets, keys: Keys::new(CLUSTER_FILE) }
    }

    /// Names the file in messages.
    pub(super) fn name(&self) -> &str {
        &self.source.file
    }

    /// The file as it is.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once; its runs and scenarios are not looked into.
    pub(crate) fn file(&self) -> Result<ClusterFile, Problems> {
        self.with(Vec::new())
    }

    /// The file with more settings put over it.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub(super) fn with(&self, more: Vec<Set>) -> Result<ClusterFile, Problems> {
        let sets: Vec<Set> = self.sets.iter().cloned().chain(more).collect();
        let checked = check::<ClusterFile>(&self.keys, &self.source.text, &sets);
        checked.finish(&self.source.file, |file, written, tainted| {
            file.base.clone_from(&self.source.base);
            cross::check(&self.keys, file, written, tainted)
        })
    }
}
