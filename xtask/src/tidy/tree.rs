//! The text files of the repository, read once.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Finding;

/// Folders that hold nothing of ours, wherever they are.
const SKIPPED: &[&str] = &["target", ".git", "runs", "shared", "__pycache__"];

/// Endings of files that are read; files without an ending are read too.
const ENDINGS: &[&str] = &["rs", "md", "toml", "py", "sh", "txt", "yml", "yaml"];

/// One text file.
#[derive(Clone, Debug)]
pub struct File {
    /// Relative to the root.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// All text files.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The repository's root.
    pub root: PathBuf,
    /// The files, sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the text files under `root`. Files that are not UTF-8 are left out.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self { root: root.to_owned(), files: Vec::new() };
        tree.folder(root)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let read = || format!("{} cannot be read", folder.display());
        for entry in std::fs::read_dir(folder).with_context(read)? {
            let entry = entry.with_context(read)?;
            let (path, kind) = (entry.path(), entry.file_type().with_context(read)?);
            let name = entry.file_name();
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                self.folder(&path)?;
            } else if kind.is_file() && is_text(&path) {
                let bytes =
                    std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
                if let Ok(text) = String::from_utf8(bytes) {
                    self.files.push(File { path: path.strip_prefix(&self.root)?.to_owned(), text });
                }
            }
        }
        Ok(())
    }

    /// The files with this ending.
    pub fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.extension().is_some_and(|found| found == ending))
    }

    /// The file at a path relative to the root.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == Path::new(path))
    }
}

impl File {
    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The number of the first line that contains `part`; 1 when none does.
    #[must_use]
    pub fn line_with(&self, part: &str) -> usize {
        self.lines().find(|(_, line)| line.contains(part)).map_or(1, |(number, _)| number)
    }

    /// A finding in this file.
    #[must_use]
    pub fn finding(&self, line: usize, what: String, help: &str) -> Finding {
        Finding { path: self.path.clone(), line, what, help: help.to_owned() }
    }
}

fn is_text(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ENDINGS.iter().any(|known| ending == *known))
}
