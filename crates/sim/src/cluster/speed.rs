//! How long a worker takes for a batch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gearshift_types::{Time, WorkerId};
use serde::{Deserialize, Serialize};

use crate::random::{Purpose, normal, unit};

/// Batch times: (`batch_us` + samples * `sample_us`) * jitter * slow * noise * load, or those of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpeedOptions {
    /// Microseconds per sample.
    pub sample_us: f64,
    /// Microseconds per batch on top.
    pub batch_us: f64,
    /// Each batch takes 1 - jitter to 1 + jitter times as long, uniformly.
    pub jitter: f64,
    /// Workers that are always slow.
    pub slow: Vec<Slow>,
    /// Log-normal noise.
    pub noise: Option<NoiseOptions>,
    /// Load that changes by the hour.
    pub load: Option<LoadOptions>,
    /// CSV file with the header `worker,seconds`: batch times of each worker in order, used in turn and from the
    /// start again at its end. A worker that it does not name takes the times of another one (id modulo). Replaces
    /// `batch_us`, `sample_us` and `jitter`.
    pub trace: Option<PathBuf>,
}

impl Default for SpeedOptions {
    fn default() -> Self {
        Self {
            sample_us: 100.0,
            batch_us: 0.0,
            jitter: 0.1,
            slow: Vec::new(),
            noise: None,
            load: None,
            trace: None,
        }
    }
}

/// Slow workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// How many: those with the highest ids that no earlier entry took.
    pub workers: u32,
    /// Each of their batches takes so many times as long.
    pub factor: f64,
}

/// Log-normal noise: exp(sigma * z), median 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NoiseOptions {
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    /// Share of the variance that belongs to the worker and stays for the run: 0 = each batch is drawn
    /// independently, 1 = each worker has one speed.
    pub correlation: f64,
}

impl Default for NoiseOptions {
    fn default() -> Self {
        Self { sigma: 0.5, correlation: 0.0 }
    }
}

/// How busy the cluster is, by the hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadPattern {
    /// A tenth of the full load, always.
    #[default]
    Calm,
    /// From nothing at midnight to full at noon and back.
    Diurnal,
    /// Three hours of ten are fully loaded, at random; nothing in the others.
    Bursty,
}

/// Load by others on the same machines: in each hour each worker is slowed down by exp(load * sigma * |z|), drawn
/// anew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadOptions {
    /// How load goes up and down.
    pub pattern: LoadPattern,
    /// Strength at full load.
    pub sigma: f64,
    /// Virtual seconds of an hour.
    pub hour_seconds: f64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { pattern: LoadPattern::Calm, sigma: 0.8, hour_seconds: 3600.0 }
    }
}

/// Why a trace of batch times cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace, line {line}: expected {expected}, got {got:?}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// What should be there.
    pub expected: &'static str,
    /// What is there.
    pub got: String,
}

/// Batch times of each worker, seconds, in order; workers ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace(Vec<(u32, Vec<f64>)>);

impl Trace {
    /// Parses the CSV text of a trace.
    ///
    /// # Errors
    /// When the header or a line is not as expected, or there is no time.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines());
        let error = |line, expected, got: &str| TraceError { line, expected, got: got.to_owned() };
        let (_, header) = lines.next().unwrap_or((1, ""));
        if header.trim() != "worker,seconds" {
            return Err(error(1, "the header worker,seconds", header));
        }
        let mut times: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let (worker, seconds) = line.split_once(',').unwrap_or((line, ""));
            let worker: u32 =
                worker.trim().parse().map_err(|_| error(number, "a worker's number and seconds", line))?;
            let seconds: f64 = seconds.trim().parse().unwrap_or(f64::NAN);
            if !(seconds > 0.0 && seconds < 1e9) {
                return Err(error(number, "seconds above 0 and below 1e9", line));
            }
            times.entry(worker).or_default().push(seconds);
        }
        if times.is_empty() {
            return Err(error(2, "at least one batch time", ""));
        }
        Ok(Self(times.into_iter().collect()))
    }

    fn seconds(&self, worker: WorkerId, batch: u64) -> f64 {
        let named = self.0.binary_search_by_key(&worker.0, |(named, _)| *named);
        let (_, times) = &self.0[named.unwrap_or(worker.0 as usize % self.0.len())];
        times[(batch % times.len() as u64) as usize]
    }
}

/// Batch times of a cluster of a certain size.
#[derive(Clone, Debug)]
pub struct SpeedModel {
    options: SpeedOptions,
    trace: Option<Trace>,
    seed: u64,
    /// By worker.
    slow: Vec<f64>,
}

impl SpeedModel {
    /// The batch times of `workers` workers; `trace` is what `options.trace` names.
    #[must_use]
    pub fn new(options: SpeedOptions, trace: Option<Trace>, workers: u32, seed: u64) -> Self {
        let mut slow = vec![1.0; workers as usize];
        let mut from_the_end = slow.iter_mut().rev();
        for entry in &options.slow {
            for factor in from_the_end.by_ref().take(entry.workers as usize) {
                *factor = entry.factor;
            }
        }
        Self { options, trace, seed, slow }
    }

    /// Seconds that `worker` takes for its batch number `batch` of `samples` samples, begun at `now`.
    #[must_use]
    pub fn seconds(&self, worker: WorkerId, batch: u64, samples: u32, now: Time) -> f64 {
        let options = &self.options;
        let who = u64::from(worker.0);
        let mut seconds = match &self.trace {
            Some(trace) => trace.seconds(worker, batch),
            None => {
                let jitter = options.jitter * (2.0 * unit(self.seed, Purpose::Jitter, who, batch) - 1.0);
                (options.batch_us + f64::from(samples) * options.sample_us) * 1e-6 * (1.0 + jitter)
            }
        };
        seconds *= self.slow.get(worker.0 as usize).copied().unwrap_or(1.0);
        if let Some(noise) = &options.noise {
            let of_worker = normal(self.seed, Purpose::WorkerNoise, who, 0);
            let of_batch = normal(self.seed, Purpose::Noise, who, batch);
            let share = noise.correlation.clamp(0.0, 1.0);
            let z = share.sqrt() * of_worker + (1.0 - share).sqrt() * of_batch;
            seconds *= (noise.sigma * z).exp();
        }
        if let Some(load) = &options.load {
            let hour = (now.0 as f64 * 1e-9 / load.hour_seconds.max(1e-9)) as u64;
            let z = normal(self.seed, Purpose::Load, who, hour).abs();
            seconds *= (self.load(load.pattern, hour) * load.sigma * z).exp();
        }
        seconds
    }

    /// Load of an hour, 0 to 1.
    fn load(&self, pattern: LoadPattern, hour: u64) -> f64 {
        match pattern {
            LoadPattern::Calm => 0.1,
            LoadPattern::Diurnal => 0.5 - 0.5 * (std::f64::consts::TAU * (hour % 24) as f64 / 24.0).cos(),
            LoadPattern::Bursty => f64::from(u8::from(unit(self.seed, Purpose::LoadedHour, 0, hour) < 0.3)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_takes_its_own_times_of_a_trace_in_turn() {
        let trace = Trace::parse("worker,seconds\n3,0.5\n1,2\n3,0.25\n").ok();
        let options =
            SpeedOptions { slow: vec![Slow { workers: 1, factor: 10.0 }], ..SpeedOptions::default() };
        let speed = SpeedModel::new(options, trace, 5, 1);
        let times = |worker| [0, 1, 2].map(|batch| speed.seconds(WorkerId(worker), batch, 64, Time(0)));
        assert_eq!(times(1), [2.0, 2.0, 2.0]);
        assert_eq!(times(3), [0.5, 0.25, 0.5]);
        // Not named: worker 2 takes those of the first that is, worker 4 too, ten times as slow.
        assert_eq!((times(2), times(4)), ([2.0, 2.0, 2.0], [20.0, 20.0, 20.0]));
    }
}
