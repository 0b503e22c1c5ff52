//! Checkpoints on disk: a folder each, files written under a temporary name, the manifest last.

use std::fs::{self, File, TryLockError};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gearshift_cluster::manifest::FORMAT_VERSION;
use gearshift_cluster::{Manifest, ServerFile};
use gearshift_embedding::{Restore, Shard, ShardSummary, UpdateOptions};
use gearshift_types::{ModelSpec, PartitionMap, ServerId};
use sha2::{Digest, Sha256};

/// The manifest's name.
pub const MANIFEST: &str = "manifest.json";

/// A manifest larger than this is not read.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;

/// Why a checkpoint cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system said no.
    #[error("checkpoint {}: cannot {action}: {reason}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        reason: std::io::Error,
    },
    /// There is no checkpoint.
    #[error("{}: no checkpoint here: expected {MANIFEST}, or folders step-* with one; a checkpoint without a manifest was never finished", .0.display())]
    None(PathBuf),
    /// What is there is not what was written.
    #[error("checkpoint {}: {what}: expected {expected}, got {got}; restore it from a copy or go on from an older checkpoint", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was looked at.
        what: String,
        /// What the manifest or the format says.
        expected: String,
        /// What was found.
        got: String,
    },
    /// The bytes are whole but cannot be used.
    #[error("checkpoint {}: {message}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
}

fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> CheckpointError {
    let path = path.to_owned();
    move |reason| CheckpointError::Io { path, action, reason }
}

/// Writes one server's file of the checkpoint `id` under a temporary name.
pub(crate) fn write_shard(folder: &Path, id: u64, shard: &Shard) -> Result<ShardSummary, CheckpointError> {
    let writing = folder.join(format!("writing-{id}"));
    fs::create_dir_all(&writing).map_err(io(&writing, "create folder"))?;
    let path = writing.join(shard_file_name(shard.server()));
    let file = File::create(&path).map_err(io(&path, "create"))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let summary = shard.write_checkpoint(&mut writer).map_err(io(&path, "write"))?;
    let file = writer.into_inner().map_err(|error| error.into_error()).map_err(io(&path, "write"))?;
    file.sync_all().map_err(io(&path, "sync"))?;
    Ok(summary)
}

/// The name of a server's file.
#[must_use]
pub fn shard_file_name(server: ServerId) -> String {
    format!("server-{:04}.safetensors", server.0)
}

/// What every version of the manifest has.
#[derive(serde::Deserialize)]
struct Version {
    format_version: u32,
}

/// A folder of checkpoints, of one job at a time.
#[derive(Clone, Debug)]
pub struct CheckpointFolder {
    folder: PathBuf,
    keep: usize,
    /// The checkpoint that the run went on from; its commit log needs it, so it stays.
    resumed_from: Option<PathBuf>,
    /// Held while the run lasts.
    _lock: Arc<File>,
}

impl CheckpointFolder {
    /// Opens or makes a folder that keeps the last `keep` checkpoints; clears away what a killed run left half
    /// written or half removed. A checkpoint that was put aside for another one of its step is put back.
    ///
    /// # Errors
    /// When it cannot be made, read or written, or another run uses it.
    pub fn create(folder: &Path, keep: usize) -> Result<Self, CheckpointError> {
        fs::create_dir_all(folder).map_err(io(folder, "create folder"))?;
        let lock = lock(folder)?;
        clear_up(folder)?;
        Ok(Self { folder: folder.to_owned(), keep: keep.max(1), resumed_from: None, _lock: Arc::new(lock) })
    }

    /// Begins a run. When it goes on from a checkpoint, later ones here are of a history that is given up: they are
    /// renamed.
    ///
    /// # Errors
    /// When the folder holds checkpoints and the run does not go on from one: they would be taken for its own.
    pub fn begin(mut self, resumed: Option<&Checkpoint>) -> Result<Self, CheckpointError> {
        let held = list(&self.folder)?;
        let Some(from) = resumed else {
            let Some(newest) = held.last() else { return Ok(self) };
            let message = format!(
                "the folder holds checkpoints of an earlier run ({} of them, the newest {}): go on from them with --resume, name another folder in checkpoint.folder, or remove them",
                held.len(),
                newest.file_name().unwrap_or_default().to_string_lossy()
            );
            return Err(CheckpointError::Unusable { path: self.folder, message });
        };
        for later in held.iter().filter(|path| step_of(path) > from.step()) {
            let mut aside = later.as_os_str().to_owned();
            aside.push(".given-up");
            let aside = PathBuf::from(aside);
            if aside.exists() {
                fs::remove_dir_all(&aside).map_err(io(&aside, "remove"))?;
            }
            fs::rename(later, &aside).map_err(io(later, "rename"))?;
        }
        self.resumed_from = Some(from.path.clone());
        Ok(self)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Finishes checkpoint `id`: manifest last, then the name by which it exists. Removes the oldest ones.
    ///
    /// # Errors
    /// When the file system says no; older checkpoints are untouched then.
    pub fn finish(&self, id: u64, manifest: &Manifest) -> Result<PathBuf, CheckpointError> {
        let writing = self.folder.join(format!("writing-{id}"));
        let unusable = |error: serde_json::Error| CheckpointError::Unusable {
            path: writing.clone(),
            message: error.to_string(),
        };
        let checksum = seal(manifest).map_err(unusable)?;
        let sealed = Manifest { checksum, ..manifest.clone() };
        let text = serde_json::to_vec_pretty(&sealed).map_err(unusable)?;
        let temporary = writing.join("manifest.json.writing");
        let mut file = File::create(&temporary).map_err(io(&temporary, "create"))?;
        file.write_all(&text).map_err(io(&temporary, "write"))?;
        file.sync_all().map_err(io(&temporary, "sync"))?;
        fs::rename(&temporary, writing.join(MANIFEST)).map_err(io(&temporary, "rename"))?;
        sync_folder(&writing)?;
        let path = step_folder(&self.folder, manifest);
        let replaced = self.folder.join(format!("writing-{id}-replaced"));
        if path.exists() {
            fs::rename(&path, &replaced).map_err(io(&path, "rename"))?;
        }
        fs::rename(&writing, &path).map_err(io(&writing, "rename"))?;
        sync_folder(&self.folder)?;
        if replaced.exists() {
            fs::remove_dir_all(&replaced).map_err(io(&replaced, "remove"))?;
        }
        self.prune()?;
        Ok(path)
    }

    fn prune(&self) -> Result<(), CheckpointError> {
        let mut all = list(&self.folder)?;
        let resumed_from = self.resumed_from.as_ref().and_then(|path| path.canonicalize().ok());
        all.retain(|path| resumed_from.is_none() || path.canonicalize().ok() != resumed_from);
        while all.len() > self.keep {
            let oldest = all.remove(0);
            // Without its manifest it does not exist, whatever happens to the rest.
            let manifest = oldest.join(MANIFEST);
            fs::remove_file(&manifest).map_err(io(&manifest, "remove"))?;
            fs::remove_dir_all(&oldest).map_err(io(&oldest, "remove"))?;
        }
        Ok(())
    }
}

/// Takes a folder for this run alone; the system gives it back when the run ends, however it ends.
fn lock(folder: &Path) -> Result<File, CheckpointError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(io(&path, "create"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CheckpointError::Unusable {
            path: folder.to_owned(),
            message: "another run writes its checkpoints here; name another folder in checkpoint.folder"
                .to_owned(),
        }),
        // A file system without locks: one run at a time is up to the user there.
        Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Removes what a killed run left half written or half removed; puts back what it had put aside.
fn clear_up(folder: &Path) -> Result<(), CheckpointError> {
    for entry in fs::read_dir(folder).map_err(io(folder, "list"))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let half_removed = name.starts_with("step-") && path.is_dir() && !path.join(MANIFEST).is_file();
        if !name.starts_with("writing-") && !half_removed {
            continue;
        }
        if let Ok(aside) = Checkpoint::open_exactly(&path)
            && let home = step_folder(folder, &aside.manifest)
            && !home.exists()
        {
            fs::rename(&aside.path, &home).map_err(io(&home, "rename"))?;
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(io(&path, "remove"))?;
    }
    Ok(())
}

/// The step in a checkpoint folder's name.
fn step_of(path: &Path) -> u64 {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_prefix("step-").and_then(|step| step.parse().ok()).unwrap_or(0)
}

/// The name by which a checkpoint exists.
fn step_folder(folder: &Path, manifest: &Manifest) -> PathBuf {
    folder.join(format!("step-{:012}", manifest.position.step.0))
}

fn sync_folder(folder: &Path) -> Result<(), CheckpointError> {
    let opened = File::open(folder).map_err(io(folder, "open"))?;
    opened.sync_all().map_err(io(folder, "sync"))
}

/// The checkpoints in a folder, oldest first. Those without a manifest do not exist.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let entries = fs::read_dir(folder).map_err(io(folder, "list"))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("step-") && !name.ends_with(".given-up")
        })
        .map(|entry| entry.path())
        .filter(|path| path.join(MANIFEST).is_file())
        .collect();
    found.sort();
    Ok(found)
}

/// A checkpoint that exists.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    manifest: Manifest,
}

impl Checkpoint {
    /// Opens a checkpoint, or the newest one of a folder of checkpoints. Files are checked by
    /// [`Checkpoint::verify`] and when they are restored.
    ///
    /// # Errors
    /// When there is none or its manifest cannot be used.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        let path = if path.join(MANIFEST).is_file() {
            path.to_owned()
        } else {
            let none = || CheckpointError::None(path.to_owned());
            list(path).map_err(|_| none())?.pop().ok_or_else(none)?
        };
        Self::open_exactly(&path)
    }

    /// Opens the checkpoint in a folder of its own.
    fn open_exactly(path: &Path) -> Result<Self, CheckpointError> {
        let manifest_path = path.join(MANIFEST);
        let size = fs::metadata(&manifest_path).map_err(io(&manifest_path, "read"))?.len();
        let damaged = |what: &str, expected: String, got: String| CheckpointError::Damaged {
            path: manifest_path.clone(),
            what: what.to_owned(),
            expected,
            got,
        };
        if size > MANIFEST_BYTES_MAX {
            return Err(damaged("size", format!("at most {MANIFEST_BYTES_MAX} bytes"), size.to_string()));
        }
        let text = fs::read(&manifest_path).map_err(io(&manifest_path, "read"))?;
        let bad_json =
            |error: serde_json::Error| damaged("content", "a manifest in JSON".to_owned(), error.to_string());
        // The version first: another one may have other fields.
        let Version { format_version } = serde_json::from_slice(&text).map_err(bad_json)?;
        if format_version != FORMAT_VERSION {
            return Err(damaged("format version", FORMAT_VERSION.to_string(), format_version.to_string()));
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(bad_json)?;
        // The checksum is over what is said; this is over how, so that not one byte may differ.
        if serde_json::to_vec_pretty(&manifest).ok().as_deref() != Some(text.as_slice()) {
            let (expected, got) = ("the text as it was written", "the same keys, written otherwise");
            return Err(damaged("text", expected.to_owned(), got.to_owned()));
        }
        let checksum = seal(&manifest).unwrap_or_default();
        if checksum != manifest.checksum {
            return Err(damaged("checksum over the manifest", manifest.checksum, checksum));
        }
        for file in &manifest.files {
            if file.name.contains(['/', '\\']) || file.name.starts_with('.') {
                let expected = "a plain file name".to_owned();
                return Err(damaged("file name", expected, format!("{:?}", file.name)));
            }
        }
        if let Some(wrong) = wrong_position(&manifest) {
            return Err(damaged(
                "position",
                "ranges of rows in order, of the part under way".to_owned(),
                wrong,
            ));
        }
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// The step at which it was taken.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.manifest.position.step.0
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Reads every file and compares size and checksum. Returns the bytes read.
    ///
    /// # Errors
    /// For the first file that is missing or differs.
    pub fn verify(&self) -> Result<u64, CheckpointError> {
        let mut total = 0;
        for listed in &self.manifest.files {
            let (path, mut file) = self.open_file(listed)?;
            let mut hash = Sha256::new();
            let mut buffer = vec![0; 1 << 20];
            loop {
                let count = file.read(&mut buffer).map_err(io(&path, "read"))?;
                if count == 0 {
                    break;
                }
                hash.update(&buffer[..count]);
            }
            same_checksum(&path, listed, &hex(&hash.finalize()))?;
            total += listed.bytes;
        }
        Ok(total)
    }

    /// One server's shard, from the files of any number of servers. Checks each file that it reads.
    ///
    /// # Errors
    /// When a file is missing or damaged, or does not hold what the model and the optimizers need.
    pub fn restore(
        &self,
        spec: Arc<ModelSpec>,
        options: &UpdateOptions,
        map: PartitionMap,
        server: ServerId,
        seed: u64,
    ) -> Result<Shard, CheckpointError> {
        let unusable = |path: &Path, error: &dyn std::fmt::Display| CheckpointError::Unusable {
            path: path.to_owned(),
            message: error.to_string(),
        };
        let restore = Restore::new(spec, options, map, server, seed);
        let mut restore = restore.map_err(|error| unusable(&self.path, &error))?;
        for (index, listed) in self.manifest.files.iter().enumerate() {
            if !restore.needs(ServerId(index as u32), self.manifest.servers) {
                continue;
            }
            let (path, file) = self.open_file(listed)?;
            let mut reader = BufReader::with_capacity(1 << 20, file);
            let read = restore.part(&listed.name, &mut reader, listed.bytes);
            let read = read.map_err(|error| unusable(&path, &error))?;
            same_checksum(&path, listed, &read.sha256)?;
            if read.step.0 != self.step() {
                let (expected, got) = (self.step().to_string(), read.step.to_string());
                let what = "step of the file and of the manifest".to_owned();
                return Err(CheckpointError::Damaged { path, what, expected, got });
            }
        }
        restore.finish().map_err(|error| unusable(&self.path, &error))
    }

    /// Opens a file whose size is as listed.
    fn open_file(&self, listed: &ServerFile) -> Result<(PathBuf, File), CheckpointError> {
        let path = self.path.join(&listed.name);
        let file = File::open(&path).map_err(io(&path, "open"))?;
        let size = file.metadata().map_err(io(&path, "read"))?.len();
        if size != listed.bytes {
            let (what, expected, got) =
                ("size".to_owned(), format!("{} bytes", listed.bytes), format!("{size} bytes"));
            return Err(CheckpointError::Damaged { path, what, expected, got });
        }
        Ok((path, file))
    }
}

/// What is wrong with a manifest's account of the rows that have met their fate.
fn wrong_position(manifest: &Manifest) -> Option<String> {
    let position = &manifest.position;
    let mut next = (position.finished_blocks, 0);
    for range in &position.resolved {
        let in_order = (range.block, range.start) >= next && range.start < range.end;
        if range.part != position.part || !in_order {
            return Some(format!("{range:?}"));
        }
        next = (range.block, range.end);
    }
    // No run reaches such numbers; beyond them counting on would overflow.
    let far = position.step.0.max(position.next_batch.0).max(position.samples.read) > u64::MAX / 4;
    far.then(|| format!("step {}, next batch {}", position.step, position.next_batch))
}

fn same_checksum(path: &Path, listed: &ServerFile, got: &str) -> Result<(), CheckpointError> {
    if got == listed.sha256 {
        return Ok(());
    }
    let (path, what) = (path.to_owned(), "SHA-256".to_owned());
    let (expected, got) = (listed.sha256.clone(), got.to_owned());
    Err(CheckpointError::Damaged { path, what, expected, got })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The manifest's checksum over itself.
fn seal(manifest: &Manifest) -> Result<String, serde_json::Error> {
    let open = Manifest { checksum: String::new(), ..manifest.clone() };
    Ok(hex(&Sha256::digest(serde_json::to_vec(&open)?)))
}
