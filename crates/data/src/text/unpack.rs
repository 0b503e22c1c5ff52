//! One file as a stream of text, unpacked by its ending: `.gz` (any number of members), `.zst` (any number of
//! frames), anything else as it is.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::zst::{ZstReader, read_up_to};
use crate::source::DataError;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstandard,
}

impl Packing {
    pub(crate) fn of(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstandard,
            _ => Self::Plain,
        }
    }
}

/// An open file.
pub(crate) struct Source {
    pub path: Arc<PathBuf>,
    pub packing: Packing,
    /// Bytes of the file.
    pub size: u64,
    stream: Box<dyn Read + Send>,
    /// Bytes read of the file, packed.
    taken: Arc<AtomicU64>,
}

struct Counting<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.taken.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

impl Source {
    /// Opens `path`; `offset` (bytes to pass over) only for plain files.
    pub(crate) fn open(path: &Arc<PathBuf>, offset: u64) -> Result<Self, DataError> {
        let failed = |error: io::Error| file_error(path, opening_advice(path, &error));
        let mut file = File::open(path.as_path()).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(file_error(path, "this is a folder; name the files in it".to_owned()));
        }
        let packing = Packing::of(path);
        if packing == Packing::Plain {
            refuse_packed(path, &mut file)?;
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        let taken = Arc::new(AtomicU64::new(offset));
        let counting = Counting { inner: file, taken: taken.clone() };
        let stream: Box<dyn Read + Send> = match packing {
            Packing::Plain => Box::new(counting),
            Packing::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, counting))),
            Packing::Zstandard => Box::new(ZstReader::new(BufReader::with_capacity(1 << 16, counting))),
        };
        Ok(Self { path: path.clone(), packing, size: meta.len(), stream, taken })
    }

    /// Bytes read of the file so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Fills `buffer` as far as the stream goes; `line` is where the reading stands, for the error.
    pub(crate) fn fill(&mut self, buffer: &mut [u8], line: u64) -> Result<usize, DataError> {
        read_up_to(&mut self.stream, buffer).map_err(|error| {
            let (taken, size) = (self.taken(), self.size);
            let place = format!("near line {line}, byte {taken} of {size}");
            let message = match self.packing {
                Packing::Plain => format!("reading failed {place}: {error}"),
                packing => {
                    let kind = if packing == Packing::Gzip { "gzip" } else { "Zstandard" };
                    let what = if taken >= size && is_early_end(&error) {
                        "the file ends in the middle of packed data; it is cut off: copy it again".to_owned()
                    } else {
                        format!(
                            "{error}; the file is corrupt or not {kind} data: test it with `{}`",
                            test(packing)
                        )
                    };
                    format!("unpacking {kind} failed {place}: {what}")
                }
            };
            file_error(&self.path, message)
        })
    }
}

fn test(packing: Packing) -> &'static str {
    if packing == Packing::Gzip { "gzip -t" } else { "zstd -t" }
}

/// Whether the end of the file caused `error`, which ruzstd wraps in errors of its own.
fn is_early_end(error: &io::Error) -> bool {
    if error.kind() == ErrorKind::UnexpectedEof {
        return true;
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.get_ref().map(|inner| inner as _);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|inner| inner.kind() == ErrorKind::UnexpectedEof) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn refuse_packed(path: &Path, file: &mut File) -> Result<(), DataError> {
    let mut start = [0; 4];
    let got = read_up_to(file, &mut start).map_err(|error| file_error(path, opening_advice(path, &error)))?;
    let kind = match &start[..got] {
        [0x1F, 0x8B, ..] => ("gzip", ".gz"),
        [0x28, 0xB5, 0x2F, 0xFD] => ("Zstandard", ".zst"),
        _ => return Ok(()),
    };
    Err(file_error(
        path,
        format!("holds {} data but is read as text; give its name the ending {}", kind.0, kind.1),
    ))
}

fn opening_advice(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            match folder {
                Some(folder) if !folder.is_dir() => format!(
                    "no such file: the folder {} does not exist either; check folder in [data] (it is relative to \
                     the job file)",
                    folder.display()
                ),
                _ => "no such file; check the name (names are relative to folder in [data])".to_owned(),
            }
        }
        ErrorKind::PermissionDenied => format!("cannot be opened: {error}; allow reading it"),
        _ => format!("cannot be opened: {error}"),
    }
}

pub(crate) fn file_error(path: &Path, message: String) -> DataError {
    DataError::File { file: path.to_path_buf(), message }
}
