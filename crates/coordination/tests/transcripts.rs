//! Golden transcripts: `testdata/<gear>/*.txt` hold events and the decisions that must follow.
//!
//! A file is `name = value` settings, then events, one per line, each followed by its decisions, indented;
//! `#` starts a comment. `UPDATE_TRANSCRIPTS=1 cargo test -p gearshift-coordination --test transcripts` writes the
//! decisions anew: read the difference before it is committed, these files are the specification.

#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gearshift_coordination::{
    BatchOptions, DecayKind, Decision, Engagement, Event, Gear, GearOptions, Rule, TokenKind, engage,
};
use gearshift_types::{BatchId, DiscardReason, Step, WorkerId};

/// Fewest transcripts per gear.
const LEAST: usize = 4;

#[test]
fn every_gear_decides_as_its_transcripts_say() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for gear in Gear::ALL {
        let files = transcripts(&testdata.join(gear.name()));
        assert!(files.len() >= LEAST, "{gear} has {} transcripts, expected {LEAST} or more", files.len());
        files.iter().for_each(|file| check(gear, file));
    }
    let folders = fs::read_dir(&testdata).unwrap().count();
    assert_eq!(folders, Gear::ALL.len(), "a folder in testdata belongs to no gear");
}

fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Runs one transcript and compares it line by line.
fn check(gear: Gear, file: &Path) {
    let expected = fs::read_to_string(file).unwrap();
    let actual = replay(gear, &expected).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        fs::write(file, actual).unwrap();
        return;
    }
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        let place = format!("{}:{}", file.display(), number + 1);
        assert!(expected == actual, "{place}\n  expected: {expected}\n  decided:  {actual}");
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{} is too short or long", file.display());
}

/// The transcript with its comments and events and the decisions that the rule makes now.
fn replay(gear: Gear, transcript: &str) -> Result<String, String> {
    let mut options = GearOptions::default();
    let batch = BatchOptions { global: 0, local: 1 };
    let mut at = Engagement { step: Step(0), next_batch: BatchId(0), batch };
    let mut rule: Option<Box<dyn Rule>> = None;
    let (mut written, mut decisions) = (String::new(), Vec::new());
    for (number, line) in transcript.lines().enumerate() {
        let wrong = |error: String| format!("line {}: {error}", number + 1);
        if line.starts_with(char::is_whitespace) {
            continue;
        }
        writeln!(written, "{line}").unwrap();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = line.split_once(" = ") {
            set(&mut options, &mut at, name, value).map_err(wrong)?;
            continue;
        }
        if rule.is_none() {
            rule = Some(engage(gear, &options, at).map_err(|error| error.to_string())?);
        }
        let event = event(line).map_err(wrong)?;
        rule.as_mut().unwrap().on_event(event, &mut decisions);
        decisions.drain(..).for_each(|decision| writeln!(written, "    {}", shown(&decision)).unwrap());
    }
    Ok(written)
}

fn set(options: &mut GearOptions, at: &mut Engagement, name: &str, value: &str) -> Result<(), String> {
    let number = || value.parse::<u32>().map_err(|error| format!("{name}: {error}"));
    match name {
        "global" => at.batch.global = number()?,
        "local" => at.batch.local = number()?,
        "step" => at.step = Step(number()?.into()),
        "next_batch" => at.next_batch = BatchId(number()?.into()),
        "tolerance_steps" => options.tolerance_steps = number()?,
        "bound_clocks" => options.bound_clocks = number()?,
        "backups" => options.backups = number()?,
        "k_batches" => options.k_batches = Some(number()?),
        "power" => options.power = value.parse().map_err(|error| format!("{name}: {error}"))?,
        "decay" => {
            options.decay = match value {
                "hard" => DecayKind::Hard,
                "power" => DecayKind::Power,
                "none" => DecayKind::None,
                "version_power" => DecayKind::VersionPower,
                _ => return Err(format!("no decay is called {value}")),
            }
        }
        "tokens" => {
            options.tokens = match value {
                "position" => TokenKind::Position,
                "version" => TokenKind::Version,
                _ => return Err(format!("no kind of tokens is called {value}")),
            }
        }
        _ => return Err(format!("no setting is called {name}")),
    }
    Ok(())
}

fn event(line: &str) -> Result<Event, String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let number = |word: &str| word.parse::<u64>().map_err(|error| format!("{word}: {error}"));
    let worker = |word: &str| {
        let id = word.strip_prefix('w').ok_or_else(|| format!("{word} is no worker"))?;
        Ok::<_, String>(WorkerId(number(id)? as u32))
    };
    Ok(match words[..] {
        ["join", w] => Event::WorkerJoined { worker: worker(w)? },
        ["leave", w] => Event::WorkerLeft { worker: worker(w)? },
        ["request", w] => Event::TokenRequested { worker: worker(w)? },
        ["push", w, "batch", batch, "samples", samples, "version", version] => Event::GradientPushed {
            worker: worker(w)?,
            batch: BatchId(number(batch)?),
            samples: number(samples)? as u32,
            version: Step(number(version)?),
        },
        ["fail", w, "batch", batch] => {
            Event::GradientFailed { worker: worker(w)?, batch: BatchId(number(batch)?) }
        }
        ["lease_ended", "batch", batch] => Event::LeaseEnded { batch: BatchId(number(batch)?) },
        ["samples", samples] => Event::SamplesAvailable { samples: number(samples)? },
        ["exhausted"] => Event::DataExhausted,
        ["shift"] => Event::ShiftRequested,
        _ => return Err(format!("not an event: {line}")),
    })
}

fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Grant { worker, batch, token, samples } => {
            format!("grant w{worker} batch {batch} token {token} samples {samples}")
        }
        Decision::Commit(commit) => {
            let members = commit.members.iter().map(|member| format!("{}*{}", member.batch, member.weight));
            let members = members.collect::<Vec<_>>().join(" + ");
            format!("commit step {}: ({members}) / {}", commit.step, commit.divisor_samples)
        }
        Decision::Discard { batch, reason: DiscardReason::Late } => format!("discard batch {batch}: late"),
        Decision::Drained => "drained".to_owned(),
    }
}
