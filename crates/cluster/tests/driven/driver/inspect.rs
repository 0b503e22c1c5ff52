//! What tests look at: parameters, digests, and whether the books are right.

use std::collections::BTreeSet;

use gearshift_cluster::{LogEntry, Outcome};
use gearshift_embedding::{ShardDigest, Store};
use gearshift_types::RowRange;

use super::run::Run;

impl Run {
    /// Digest of all rows and dense parameters with their slots.
    pub(crate) fn digest(&self) -> ShardDigest {
        let mut digest = ShardDigest::default();
        for server in &self.servers {
            digest.add(&server.store().digest());
        }
        digest
    }

    /// Dense parameters, then the vectors of all rows that exist, by table and key.
    pub(crate) fn parameters(&self) -> (Vec<f32>, Vec<f32>) {
        let dense = self.servers.iter().flat_map(|server| server.store().dense().to_vec()).collect();
        let mut rows = Vec::new();
        for (table, key) in self.job.data.keys() {
            let mut found = self.servers.iter().filter_map(|server| {
                let table = &server.store().tables()[usize::from(table.0)];
                table.row(key).map(|row| row[..table.dim()].to_vec())
            });
            rows.extend(found.next().into_iter().flatten());
            assert!(found.next().is_none(), "key {key} lives on two servers");
        }
        (dense, rows)
    }

    /// Commits of the log: step, then (weight, ranges) of the members.
    pub(crate) fn commits(&self) -> Vec<Vec<(f32, Vec<RowRange>)>> {
        commits(&self.log)
    }
}

pub(crate) fn commits(log: &[LogEntry]) -> Vec<Vec<(f32, Vec<RowRange>)>> {
    let commits = log.iter().filter_map(|entry| match entry {
        LogEntry::Commit { members, .. } => {
            Some(members.iter().map(|member| (member.weight, member.ranges.clone())).collect())
        }
        LogEntry::Engaged { .. } => None,
    });
    commits.collect()
}

/// The largest absolute difference.
pub(crate) fn largest_difference(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len(), "numbers of parameters");
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
}

/// Adds the rows of commits to `seen`; none may be there. Returns how many have weight and how many have none.
pub(crate) fn rows_of_commits(
    commits: &[Vec<(f32, Vec<RowRange>)>],
    seen: &mut BTreeSet<(u32, u32, u32)>,
) -> (u64, u64) {
    let (mut weighted, mut without) = (0, 0);
    for (weight, ranges) in commits.iter().flatten() {
        for range in ranges {
            for row in range.start..range.end {
                let new = seen.insert((range.part.0, range.block, row));
                assert!(new, "row {row} of block {}, part {} is in two commits", range.block, range.part.0);
            }
            *if *weight > 0.0 { &mut weighted } else { &mut without } += u64::from(range.rows());
        }
    }
    (weighted, without)
}

/// The state after a run that trained all data.
pub(crate) fn check_books(run: &Run, what: &str) {
    assert_eq!(run.outcome, Some(Outcome::Completed), "{what}");
    let samples = *run.scheduler.samples();
    assert_eq!(samples.read, run.job.data.rows(), "{what}: {samples:?}");
    assert!(samples.adds_up(), "{what}: {samples:?}");
    assert_eq!(run.scheduler.samples_left(), 0, "{what}");
    let mut seen = BTreeSet::new();
    let (applied, without) = rows_of_commits(&run.commits(), &mut seen);
    assert_eq!(applied, samples.applied, "{what}: {samples:?}");
    assert_eq!(without, samples.dropped + samples.failed, "{what}: {samples:?}");
    assert_eq!(seen.len() as u64 + samples.discarded, run.job.data.rows(), "{what}: {samples:?}");
    let mut batches = BTreeSet::new();
    for entry in &run.log {
        if let LogEntry::Commit { members, .. } = entry {
            for member in members {
                assert!(batches.insert(member.batch), "{what}: batch {} is in two commits", member.batch);
            }
        }
    }
    assert!(run.cache.is_empty(), "{what}: blocks never finished: {:?}", run.cache);
    for (number, server) in run.servers.iter().enumerate() {
        let store = server.store();
        assert_eq!(store.version(), run.scheduler.step(), "{what}: version of server {number}");
        assert_eq!((store.held(), store.held_bytes()), (0, 0), "{what}: gradients held by server {number}");
    }
}
