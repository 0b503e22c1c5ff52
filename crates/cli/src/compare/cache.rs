//! Results of parts on disk, so that an interrupted comparison goes on. A part is known by everything that its
//! result follows from: its settings, the data, and the part before it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gearshift_cluster::Position;
use gearshift_data::options::PartFiles;
use gearshift_sim::Checkpoint;
use gearshift_sim::compare::PartRun;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::compare::plan::Leg;
use crate::compare::stage::trace;
use crate::job::Job;

/// Raised whenever the same settings give another result.
const VERSION: u32 = 1;

/// Identifies a part and all before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LegKey(String);

/// The folder of the results.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// The first line of a state's file.
#[derive(Serialize, Deserialize)]
struct Header {
    position: Position,
    files: Vec<u64>,
    sha256: String,
}

impl Cache {
    /// Opens or makes it.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Forgets all results.
    ///
    /// # Errors
    /// When the folder cannot be emptied.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        let empty = fs::remove_dir_all(&self.folder).and_then(|()| fs::create_dir_all(&self.folder));
        empty.with_context(|| format!("cannot empty {}", self.folder.display()))
    }

    fn path(&self, key: &LegKey, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", key.0))
    }

    /// The result of a part. What cannot be read counts as missing.
    pub(crate) fn result(&self, key: &LegKey) -> Option<PartRun> {
        serde_json::from_slice(&fs::read(self.path(key, "json")).ok()?).ok()
    }

    /// The state at the end of a part; `None` when it is missing or damaged.
    pub(crate) fn state(&self, key: &LegKey) -> Option<Checkpoint> {
        let bytes = fs::read(self.path(key, "state")).ok()?;
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
        let mut rest = &bytes[end + 1..];
        if header.sha256 != hexadecimal(&Sha256::digest(rest)) {
            return None;
        }
        let mut files = Vec::with_capacity(header.files.len());
        for len in header.files {
            let (file, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            files.push(file.to_vec());
            rest = after;
        }
        Some(Checkpoint { files, position: header.position })
    }

    /// Keeps the result of a part.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_result(&self, key: &LegKey, run: &PartRun) -> anyhow::Result<()> {
        self.write(&self.path(key, "json"), &[&serde_json::to_vec(run)?])
    }

    /// Keeps the state at the end of a part.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_state(&self, key: &LegKey, state: &Checkpoint) -> anyhow::Result<()> {
        let mut sum = Sha256::new();
        state.files.iter().for_each(|file| sum.update(file));
        let header = Header {
            position: state.position.clone(),
            files: state.files.iter().map(|file| file.len() as u64).collect(),
            sha256: hexadecimal(&sum.finalize()),
        };
        let mut header = serde_json::to_vec(&header)?;
        header.push(b'\n');
        let pieces: Vec<&[u8]> =
            [header.as_slice()].into_iter().chain(state.files.iter().map(Vec::as_slice)).collect();
        self.write(&self.path(key, "state"), &pieces)
    }

    /// Forgets a state that nobody goes on from any more.
    pub(crate) fn forget_state(&self, key: &LegKey) {
        // A file that stays behind costs room and nothing else.
        let _ = fs::remove_file(self.path(key, "state"));
    }

    /// Under another name first: a file of the right name is whole.
    fn write(&self, path: &Path, pieces: &[&[u8]]) -> anyhow::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)
            .with_context(|| format!("cannot write in {}", self.folder.display()))?;
        let written = pieces.iter().try_for_each(|piece| file.write_all(piece));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a part that comes after `before`.
///
/// # Errors
/// When files of the data cannot be looked at.
pub(crate) fn key(leg: &Leg, seed: u64, before: Option<&LegKey>) -> anyhow::Result<LegKey> {
    let Leg { job, gear, part, points } = leg;
    let settings = serde_json::json!({
        "version": VERSION,
        "before": before.map(|key| &key.0),
        "seed": seed,
        "gear": gear,
        "part": part,
        "points": points,
        "data": job.data,
        "files": files(job)?,
        "model": job.model,
        "optimizer": job.optimizer,
        "batch": job.batch,
        "gears": job.gear.options,
        "roles": job.cluster,
        "cluster": job.compare.cluster(),
        "trace": trace(job)?.map(|(text, _)| text),
        "evaluation_batch": job.evaluate.batch,
    });
    Ok(LegKey(hexadecimal(&Sha256::digest(serde_json::to_vec(&settings)?)[..16])))
}

/// Size and time of every file that the data come from.
fn files(job: &Job) -> anyhow::Result<Vec<(String, u64, u128)>> {
    let data = &job.data;
    let folder = job.base.join(data.folder.clone().unwrap_or_default());
    let train = data.train.iter().flat_map(|part| match part {
        PartFiles::One(file) => std::slice::from_ref(file),
        PartFiles::Several(files) => files.as_slice(),
    });
    let joined = data.delimited.iter().flat_map(|delimited| delimited.joins.iter().map(|join| &join.file));
    let mut found = Vec::new();
    for file in train.chain(&data.evaluate).chain(joined) {
        let path = Path::new(".").join(&folder).join(file);
        let looked = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if looked.is_dir() {
            bail!("{}: expected a file, got a folder", path.display());
        }
        let changed = looked.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        found.push((file.display().to_string(), looked.len(), changed.map_or(0, |time| time.as_nanos())));
    }
    Ok(found)
}
