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
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::compare::plan::Leg;
use crate::compare::stage::trace;
use crate::job::Job;

/// Raised whenever the same settings give another result.
const VERSION: u32 = 3;

/// Identifies a part and all before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LegKey(String);

/// The folder of the results.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// The file of a result.
#[derive(Serialize, Deserialize)]
struct Kept {
    run: PartRun,
    sha256: String,
}

impl Kept {
    fn new(run: &PartRun) -> anyhow::Result<Self> {
        Ok(Self { run: run.clone(), sha256: hexadecimal(&Sha256::digest(serde_json::to_vec(run)?)) })
    }
}

/// The first line of a state's file. The sum is over this line with an empty sum, then all files.
#[derive(Serialize, Deserialize)]
struct Header {
    position: Position,
    files: Vec<u64>,
    sha256: String,
}

impl Header {
    fn new<'a>(position: Position, files: impl Iterator<Item = &'a [u8]> + Clone) -> anyhow::Result<Self> {
        let lengths = files.clone().map(|file| file.len() as u64).collect();
        let mut header = Self { position, files: lengths, sha256: String::new() };
        let mut sum = Sha256::new_with_prefix(serde_json::to_vec(&header)?);
        files.for_each(|file| sum.update(file));
        header.sha256 = hexadecimal(&sum.finalize());
        Ok(header)
    }
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

    /// The result of a part; `None` when it is missing or damaged.
    pub(crate) fn result(&self, key: &LegKey) -> Option<PartRun> {
        let kept: Kept = serde_json::from_slice(&fs::read(self.path(key, "json")).ok()?).ok()?;
        (Kept::new(&kept.run).ok()?.sha256 == kept.sha256).then_some(kept.run)
    }

    /// The state at the end of a part; `None` when it is missing or damaged.
    pub(crate) fn state(&self, key: &LegKey) -> Option<Checkpoint> {
        let bytes = fs::read(self.path(key, "state")).ok()?;
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
        let mut rest = &bytes[end + 1..];
        let mut files = Vec::new();
        for len in header.files {
            let (file, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            files.push(file.to_vec());
            rest = after;
        }
        let whole = Header::new(header.position, files.iter().map(Vec::as_slice)).ok()?;
        let same = whole.sha256 == header.sha256 && rest.is_empty();
        same.then_some(Checkpoint { files, position: whole.position })
    }

    /// Keeps the result of a part.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_result(&self, key: &LegKey, run: &PartRun) -> anyhow::Result<()> {
        self.write(&self.path(key, "json"), &[&serde_json::to_vec(&Kept::new(run)?)?])
    }

    /// Keeps the state at the end of a part.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_state(&self, key: &LegKey, state: &Checkpoint) -> anyhow::Result<()> {
        let header = Header::new(state.position.clone(), state.files.iter().map(Vec::as_slice))?;
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

/// What the results of a job follow from.
///
/// # Errors
/// When files of the data, or the trace, cannot be looked at.
pub(crate) fn settings(job: &Job) -> anyhow::Result<Value> {
    Ok(serde_json::json!({
        "version": VERSION,
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
    }))
}

/// The key of a part that comes after `before`; `settings` are those of its job.
///
/// # Errors
/// When the settings cannot be written as JSON.
pub(crate) fn key(
    leg: &Leg,
    settings: &Value,
    seed: u64,
    before: Option<&LegKey>,
) -> serde_json::Result<LegKey> {
    let Leg { gear, part, points, .. } = leg;
    let all = serde_json::json!({
        "settings": settings,
        "before": before.map(|key| &key.0),
        "seed": seed,
        "gear": gear,
        "part": part,
        "points": points,
    });
    Ok(LegKey(hexadecimal(&Sha256::digest(serde_json::to_vec(&all)?)[..16])))
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
