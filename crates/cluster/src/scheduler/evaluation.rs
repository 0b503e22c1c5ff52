//! Predictions on another part by all workers, between two parts. They create no rows and touch no slots.

use std::collections::{BTreeMap, VecDeque};

use gearshift_data::EVALUATION_PART;
use gearshift_types::{PartId, RowRange, WorkerEpoch, WorkerId};

use super::{Phase, Scheduler};
use crate::messages::{EvaluationTask, Notice, SchedulerOutput, ToWorker};

/// An evaluation under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluation {
    part: PartId,
    read: bool,
    next_task: u64,
    pending: VecDeque<EvaluationTask>,
    running: BTreeMap<u64, (WorkerId, EvaluationTask)>,
    done: BTreeMap<u64, (Vec<f32>, Vec<f32>)>,
    /// Rows of each open block that have not been predicted.
    blocks: BTreeMap<u32, u32>,
}

impl Scheduler {
    /// Evaluates the part just trained on the next one, or the last one on the final evaluation set.
    pub(super) fn evaluate_part(&mut self, out: &mut Vec<SchedulerOutput>) {
        let next = PartId(self.part.0 + 1);
        let last = next.0 == self.options.parts;
        let part = match (last, self.options.final_evaluation, self.options.evaluate_each_part) {
            (true, true, _) => EVALUATION_PART,
            (false, _, true) => next,
            _ => return self.part_over(out),
        };
        self.phase = Phase::Evaluating;
        self.evaluation = Some(Evaluation { part, ..Evaluation::default() });
        out.push(SchedulerOutput::Notice(Notice::EvaluationStarted { part }));
        out.push(SchedulerOutput::OpenPart { part, skip_blocks: 0 });
    }

    pub(super) fn evaluation_block(
        &mut self,
        part: PartId,
        block: u32,
        rows: u32,
        out: &mut Vec<SchedulerOutput>,
    ) {
        let (size, min_step) = (self.options.evaluation_batch.max(1), self.step);
        let Some(evaluation) = self.evaluation.as_mut().filter(|evaluation| evaluation.part == part) else {
            return;
        };
        if rows == 0 {
            return out.push(SchedulerOutput::BlockFinished { part, block });
        }
        evaluation.blocks.insert(block, rows);
        let mut start = 0;
        while start < rows {
            let end = rows.min(start + size);
            let ranges = vec![RowRange { part, block, start, end }];
            evaluation.pending.push_back(EvaluationTask { task: evaluation.next_task, ranges, min_step });
            evaluation.next_task += 1;
            start = end;
        }
        self.assign_tasks(out);
    }

    pub(super) fn evaluation_was_read(&mut self, part: PartId, out: &mut Vec<SchedulerOutput>) {
        if let Some(evaluation) = self.evaluation.as_mut().filter(|evaluation| evaluation.part == part) {
            evaluation.read = true;
        }
        self.evaluation_done(out);
    }

    /// Gives pending tasks to workers that wait.
    pub(super) fn assign_tasks(&mut self, out: &mut Vec<SchedulerOutput>) {
        let Some(evaluation) = self.evaluation.as_mut() else { return };
        for worker in self.workers.waiting() {
            let Some(epoch) = self.workers.epoch(worker) else { continue };
            let Some(task) = evaluation.pending.pop_front() else { return };
            self.workers.answer(worker);
            evaluation.running.insert(task.task, (worker, task.clone()));
            out.push(SchedulerOutput::Worker { worker, epoch, message: ToWorker::Evaluate(task) });
        }
    }

    /// Tasks of a dead worker are done by others.
    pub(super) fn requeue_tasks_of(&mut self, worker: WorkerId) {
        let Some(evaluation) = self.evaluation.as_mut() else { return };
        let lost: Vec<u64> = evaluation
            .running
            .iter()
            .filter(|(_, (runner, _))| *runner == worker)
            .map(|(&task, _)| task)
            .collect();
        for task in lost {
            if let Some((_, task)) = evaluation.running.remove(&task) {
                evaluation.pending.push_front(task);
            }
        }
    }

    pub(super) fn task_evaluated(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        task: u64,
        labels: Vec<f32>,
        predictions: Vec<f32>,
        out: &mut Vec<SchedulerOutput>,
    ) {
        self.workers.seen(worker, epoch, self.now);
        let Some(evaluation) = self.evaluation.as_mut() else { return };
        if evaluation.running.get(&task).is_none_or(|(runner, _)| *runner != worker) {
            return;
        }
        if let Some((_, task)) = evaluation.running.remove(&task) {
            for range in task.ranges {
                if let Some(open) = evaluation.blocks.get_mut(&range.block) {
                    *open -= range.rows();
                    if *open == 0 {
                        evaluation.blocks.remove(&range.block);
                        out.push(SchedulerOutput::BlockFinished { part: range.part, block: range.block });
                    }
                }
            }
        }
        let samples = labels.len() as u64;
        out.push(SchedulerOutput::Notice(Notice::EvaluationProgress { samples }));
        evaluation.done.insert(task, (labels, predictions));
        self.evaluation_done(out);
    }

    fn evaluation_done(&mut self, out: &mut Vec<SchedulerOutput>) {
        let done = self.evaluation.as_ref().is_some_and(|evaluation| {
            evaluation.read && evaluation.pending.is_empty() && evaluation.running.is_empty()
        });
        if !done {
            return;
        }
        if let Some(evaluation) = self.evaluation.take() {
            let (mut labels, mut predictions) = (Vec::new(), Vec::new());
            for (task_labels, task_predictions) in evaluation.done.into_values() {
                labels.extend(task_labels);
                predictions.extend(task_predictions);
            }
            let part = evaluation.part;
            out.push(SchedulerOutput::Notice(Notice::Evaluated { part, labels, predictions }));
        }
        self.part_over(out);
    }

    /// A stop does not wait for an evaluation.
    pub(super) fn abandon_evaluation(&mut self, out: &mut Vec<SchedulerOutput>) {
        self.evaluation = None;
        let text = "stopped during an evaluation; it is not in the report".to_owned();
        out.push(SchedulerOutput::Notice(Notice::Warning(text)));
        self.part_over(out);
    }
}
