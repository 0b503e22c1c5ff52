//! Turns what the scheduler notices into the report and the figures of the progress line.

use std::collections::VecDeque;
use std::time::Instant;

use gearshift_cluster::{Notice, Scheduler};
use gearshift_data::EVALUATION_PART;
use gearshift_model::{Metrics, OnlineMetrics};
use gearshift_types::PartId;

use super::Progress;
use crate::report::{PartReport, Quality, ShiftReport};

/// Incidents kept for the report.
const INCIDENTS_MAX: usize = 100;

/// Seconds over which the rate is taken.
const RATE_SECONDS: f64 = 5.0;

/// Share by which the shown loss follows the newest batch, per 10,000 samples.
const LOSS_WINDOW_SAMPLES: f64 = 10_000.0;

/// Collects a run.
pub(super) struct Recorder {
    names: Vec<String>,
    started: Instant,
    part_started: Instant,
    part_samples: u64,
    online: OnlineMetrics,
    loss: Option<f64>,
    recent: VecDeque<(Instant, u64)>,
    pub(super) progress: Progress,
    pub(super) open: Option<PartReport>,
    pub(super) parts: Vec<PartReport>,
    pub(super) shifts: Vec<ShiftReport>,
    pub(super) incidents: Vec<String>,
    pub(super) refused_gradients: u64,
}

impl Recorder {
    pub(super) fn new(names: &[String], parts: u32) -> Self {
        Self {
            names: names.to_vec(),
            started: Instant::now(),
            part_started: Instant::now(),
            part_samples: 0,
            online: OnlineMetrics::default(),
            loss: None,
            recent: VecDeque::new(),
            progress: Progress { parts, ..Progress::default() },
            open: None,
            parts: Vec::new(),
            shifts: Vec::new(),
            incidents: Vec::new(),
            refused_gradients: 0,
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn name(&self, part: PartId) -> String {
        if part == EVALUATION_PART {
            return "evaluation set".to_owned();
        }
        self.names.get(part.0 as usize).cloned().unwrap_or_else(|| format!("part {}", part.0))
    }

    fn incident(&mut self, text: String) {
        if self.incidents.len() < INCIDENTS_MAX {
            self.incidents.push(text);
        }
    }

    /// Takes in a notice. Returns a part that has just been completed.
    pub(super) fn take(&mut self, notice: &Notice, scheduler: &Scheduler) -> Option<PartReport> {
        match notice {
            Notice::PartStarted { part, gear, .. } => {
                self.part_started = Instant::now();
                self.part_samples = scheduler.samples().resolved();
                self.online.clear();
                let name = self.name(*part);
                self.progress.part = part.0;
                self.progress.part_name.clone_from(&name);
                self.progress.evaluating = false;
                self.open =
                    Some(PartReport { part: part.0, name, gears: vec![*gear], ..PartReport::default() });
            }
            Notice::PartOver { .. } => return self.close_part(),
            Notice::Trained { report, .. } => {
                // Predictions that are not finite are told by the refused gradient.
                let _ = self.online.add(&report.predictions, &report.labels);
                let samples = f64::from(report.samples);
                let mean = report.loss_sum / samples.max(1.0);
                let share = (samples / LOSS_WINDOW_SAMPLES).min(1.0);
                self.loss = Some(self.loss.map_or(mean, |loss| loss + share * (mean - loss)));
            }
            Notice::PartTrained { step, .. } => self.part_trained(step.0, scheduler),
            Notice::EvaluationStarted { .. } => {
                self.progress.evaluating = true;
                self.progress.evaluated = 0;
            }
            Notice::EvaluationProgress { samples } => self.progress.evaluated += samples,
            Notice::Evaluated { part, labels, predictions } => {
                self.progress.evaluating = false;
                let on = self.name(*part);
                match Metrics::of(predictions, labels) {
                    Ok(metrics) => {
                        if let Some(open) = self.open.as_mut() {
                            open.evaluated_on = Some(on);
                            open.evaluation = Some(metrics.into());
                        }
                    }
                    Err(error) => self.incident(format!("evaluation on {on}: {error}")),
                }
            }
            Notice::Shifted { from, to, step, samples, drain, first_grant } => {
                if let Some(open) = self.open.as_mut()
                    && open.gears.last() != Some(to)
                {
                    open.gears.push(*to);
                }
                self.shifts.push(ShiftReport {
                    from: *from,
                    to: *to,
                    step: step.0,
                    samples: *samples,
                    drain_seconds: drain.as_secs_f64(),
                    first_grant_seconds: first_grant.as_secs_f64(),
                });
            }
            Notice::Warning(text) => self.incident(text.clone()),
            Notice::WorkerLeft { worker, reason, samples } => {
                self.incident(format!(
                    "worker {worker} left: {reason}; {samples} samples went back to the pool"
                ));
            }
            Notice::GradientRefused { worker, reason, .. } => {
                self.refused_gradients += 1;
                let step = scheduler.step();
                self.incident(format!("worker {worker}, step {step}: {reason}"));
            }
            Notice::WorkerJoined { .. } | Notice::ShiftRequested { .. } => {}
        }
        None
    }

    fn part_trained(&mut self, step: u64, scheduler: &Scheduler) {
        let samples = scheduler.samples().resolved() - self.part_samples;
        let seconds = self.part_started.elapsed().as_secs_f64();
        let online = self.online.metrics().map(Quality::from);
        if let Some(open) = self.open.as_mut() {
            open.step = step;
            open.samples = samples;
            open.seconds = seconds;
            open.online = online;
        }
    }

    /// Completes the part under way, if it was trained.
    pub(super) fn close_part(&mut self) -> Option<PartReport> {
        let part = self.open.take()?;
        self.parts.push(part.clone());
        Some(part)
    }

    /// The run has ended in the middle of a part: keeps what there is of it.
    pub(super) fn stop(&mut self, scheduler: &Scheduler) -> Option<PartReport> {
        if self.open.as_ref().is_some_and(|open| open.samples == 0) {
            self.part_trained(scheduler.step().0, scheduler);
        }
        self.open.take_if(|open| open.samples == 0);
        self.close_part()
    }

    /// Figures for the progress line.
    pub(super) fn refresh(&mut self, scheduler: &Scheduler) -> &Progress {
        let now = Instant::now();
        let samples = scheduler.samples().resolved() + self.progress.evaluated;
        self.recent.push_back((now, samples));
        while self.recent.len() > 2
            && self.recent.front().is_some_and(|(at, _)| (now - *at).as_secs_f64() > RATE_SECONDS)
        {
            self.recent.pop_front();
        }
        if let Some((at, before)) = self.recent.front() {
            let seconds = (now - *at).as_secs_f64();
            if seconds > 0.0 {
                self.progress.samples_per_second = samples.saturating_sub(*before) as f64 / seconds;
            }
        }
        let figures = scheduler.figures();
        self.progress.gear = Some(scheduler.gear());
        self.progress.step = scheduler.step().0;
        self.progress.samples = scheduler.samples().resolved();
        self.progress.loss = self.loss;
        self.progress.online_auc = self.online.metrics().and_then(|metrics| metrics.auc);
        self.progress.token_staleness_steps = figures.token_staleness_steps.mean();
        self.progress.version_staleness_steps = figures.version_staleness_steps.mean();
        self.progress.workers = scheduler.live_workers();
        self.progress.seconds = self.seconds();
        &self.progress
    }
}
