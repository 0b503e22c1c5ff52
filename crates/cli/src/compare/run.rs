//! Runs chains of parts on several threads. A chain is run by one thread from its start to its end; results do not
//! depend on the number of threads.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow};
use gearshift_sim::Checkpoint;
use gearshift_sim::compare::{PartRun, run_part};
use gearshift_types::PartId;
use serde_json::Value;

use crate::compare::cache::{Cache, LegKey, key, settings};
use crate::compare::live::Live;
use crate::compare::plan::Chain;
use crate::compare::stage::DataBySeed;
use crate::job::Job;

/// What all chains share.
pub(crate) struct Runner<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) data: &'a DataBySeed,
    pub(crate) live: &'a Live,
    pub(crate) threads: usize,
}

/// Chains to run, and what came out.
struct Work {
    ready: VecDeque<usize>,
    left: usize,
    results: Vec<Option<Vec<PartRun>>>,
    failed: Option<anyhow::Error>,
}

impl Runner<'_> {
    /// Runs all chains. The parts of each.
    ///
    /// # Errors
    /// The first thing that went wrong; chains under way are finished before.
    pub(crate) fn run(&self, chains: &[Chain]) -> anyhow::Result<Vec<Vec<PartRun>>> {
        let keys = keys(chains)?;
        let ready = (0..chains.len()).filter(|&chain| chains[chain].after.is_none()).collect();
        let results = chains.iter().map(|_| None).collect();
        let work = Mutex::new(Work { ready, left: chains.len(), results, failed: None });
        let changed = Condvar::new();
        std::thread::scope(|scope| {
            for _ in 0..self.threads.clamp(1, chains.len().max(1)) {
                scope.spawn(|| self.work(chains, &keys, &work, &changed));
            }
        });
        let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
        match work.failed {
            Some(error) => Err(error),
            None => Ok(work.results.into_iter().flatten().collect()),
        }
    }

    /// One thread: takes chains until there are none.
    fn work(&self, chains: &[Chain], keys: &[Vec<LegKey>], work: &Mutex<Work>, changed: &Condvar) {
        let lock = || -> MutexGuard<'_, Work> { work.lock().unwrap_or_else(PoisonError::into_inner) };
        loop {
            let mut held = lock();
            let chain = loop {
                if held.left == 0 || held.failed.is_some() {
                    return changed.notify_all();
                }
                match held.ready.pop_front() {
                    Some(chain) => break chain,
                    None => held = changed.wait(held).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(held);
            let result = without_panic(&chains[chain].name, || self.chain(chains, keys, chain));
            let mut held = lock();
            held.left -= 1;
            match result {
                Ok(parts) => {
                    held.results[chain] = Some(parts);
                    held.ready.extend((0..chains.len()).filter(|&next| chains[next].after == Some(chain)));
                }
                Err(error) => held.failed = Some(error),
            }
            changed.notify_all();
        }
    }

    /// One chain: what is known is taken from the cache, the rest is run.
    fn chain(&self, chains: &[Chain], keys: &[Vec<LegKey>], number: usize) -> anyhow::Result<Vec<PartRun>> {
        let (chain, keys_of) = (&chains[number], &keys[number]);
        let mut runs: Vec<PartRun> = Vec::new();
        let mut state: Option<Checkpoint> = None;
        for run in keys_of.iter().map_while(|key| self.cache.result(key)) {
            runs.push(run);
        }
        let last = keys_of.len() - 1;
        let whole =
            runs.len() == keys_of.len() && (!chain.continued || self.cache.state(&keys_of[last]).is_some());
        if !whole {
            // Back to the last part whose state is there.
            runs.truncate(last);
            loop {
                state = match runs.len() {
                    0 => break,
                    done => self.cache.state(&keys_of[done - 1]),
                };
                if state.is_some() {
                    break;
                }
                runs.pop();
            }
        }
        runs.iter().for_each(|_| self.live.done(number, true));
        if runs.len() == keys_of.len() {
            return Ok(runs);
        }
        if runs.is_empty()
            && let Some(after) = chain.after
        {
            let key = keys[after].last().context("a base has parts")?;
            let found = self.cache.state(key);
            state = Some(found.with_context(|| {
                format!(
                    "the base of {:?}, seed {}, is no longer in the cache; run again",
                    chain.name, chain.seed
                )
            })?);
        }
        for place in runs.len()..keys_of.len() {
            let (run, next) = self.leg(chain, number, place, state.as_ref())?;
            let key = &keys_of[place];
            if place < last || chain.continued {
                self.cache.keep_state(key, &next)?;
            }
            self.cache.keep_result(key, &run)?;
            if place > 0 {
                self.cache.forget_state(&keys_of[place - 1]);
            }
            self.live.done(number, false);
            runs.push(run);
            state = Some(next);
        }
        Ok(runs)
    }

    fn leg(
        &self,
        chain: &Chain,
        number: usize,
        place: usize,
        state: Option<&Checkpoint>,
    ) -> anyhow::Result<(PartRun, Checkpoint)> {
        let leg = &chain.legs[place];
        let name = format!("{}, seed {}, part {}", chain.name, chain.seed, leg.part);
        self.live.progress(number, &name, 0.0);
        let stage = self.data.stage(&leg.job, chain.seed)?;
        let mut progress = |share: f64| self.live.progress(number, &name, share);
        let done = run_part(&stage, state, PartId(leg.part), leg.gear, &leg.points, &mut progress);
        let (state, run) = done.with_context(|| name.clone())?;
        Ok((run, state))
    }
}

/// A panic as an error: a thread that ended in one would leave the others waiting for what goes on from its chain.
fn without_panic<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(anyhow!("{name:?} ended in a panic, a bug; its message stands above")))
}

/// Keys of all legs of all chains.
pub(crate) fn keys(chains: &[Chain]) -> anyhow::Result<Vec<Vec<LegKey>>> {
    let mut all: Vec<Vec<LegKey>> = Vec::with_capacity(chains.len());
    // Legs share jobs, and looking at a job's files and trace takes longer than the rest.
    let mut by_job: BTreeMap<*const Job, Value> = BTreeMap::new();
    for chain in chains {
        let mut before = chain.after.and_then(|after| all[after].last().cloned());
        let mut keys = Vec::with_capacity(chain.legs.len());
        for leg in &chain.legs {
            let settings = match by_job.entry(Arc::as_ptr(&leg.job)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(fresh) => fresh.insert(settings(&leg.job)?),
            };
            let key = key(leg, settings, chain.seed, before.as_ref())?;
            keys.push(key.clone());
            before = Some(key);
        }
        all.push(keys);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_names_its_chain() {
        let error = without_panic("gba", || -> anyhow::Result<()> { panic!("planted") }).unwrap_err();
        assert!(error.to_string().starts_with("\"gba\" ended in a panic"), "{error}");
        assert_eq!(without_panic("gba", || Ok(1)).unwrap(), 1);
    }
}
