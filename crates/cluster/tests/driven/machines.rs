//! Properties of single machines, shown where they are easiest to see.

use std::sync::Arc;

use gearshift_cluster::{
    Assignment, BatchReport, Notice, Refusal, SchedulerInput, Server, ServerInput, ServerOutput, ToServer,
    ToWorker, Wait, Worker, WorkerInput, WorkerOptions, WorkerOutput,
};
use gearshift_coordination::Gear;
use gearshift_data::{Indexer, slice};
use gearshift_embedding::Shard;
use gearshift_types::{
    BatchId, Commit, IndexedBatch, Member, PartId, PartitionMap, PullReply, PullRequest, Push, RowRange,
    Rows, ServerId, Step, Token, WorkerEpoch, WorkerId,
};

use crate::driver::data::features;
use crate::driver::learner::deepfm;
use crate::driver::{Data, Job, Order, Run, check_books, optimizer};

const WORKER: WorkerId = WorkerId(0);
const EPOCH: WorkerEpoch = WorkerEpoch(0);
const SERVER: ServerId = ServerId(0);

fn samples() -> IndexedBatch {
    let data = Data::new(1, &[&[8]]);
    Indexer::new().index(&slice(&data.blocks(PartId(0))[0], 0..8), &features(), 2)
}

/// One worker and its only server, which the test plays.
struct Bench {
    worker: Worker,
    out: Vec<WorkerOutput>,
    batches: u64,
}

impl Bench {
    fn new(options: WorkerOptions) -> Self {
        let mut worker = Worker::new(WORKER, EPOCH, deepfm(), PartitionMap::new(1), options);
        let mut out = Vec::new();
        worker.handle(WorkerInput::Started, &mut out);
        Self { worker, out, batches: 0 }
    }

    fn take(&mut self, input: WorkerInput) {
        self.worker.handle(input, &mut self.out);
    }

    /// Whether it asked for a batch since last looked.
    fn requested(&mut self) -> bool {
        let is = |output: &WorkerOutput| {
            matches!(output, WorkerOutput::Scheduler(SchedulerInput::Requested { .. }))
        };
        let asked = self.out.iter().any(is);
        self.out.retain(|output| !is(output));
        asked
    }

    fn grant(&mut self) -> BatchId {
        let batch = BatchId(self.batches);
        self.batches += 1;
        let ranges = vec![RowRange { part: PartId(0), block: 0, start: 0, end: 8 }];
        let assignment = Assignment { batch, token: Token(0), ranges, min_step: None };
        self.take(WorkerInput::Scheduler(ToWorker::Train(assignment)));
        self.take(WorkerInput::Loaded(samples()));
        batch
    }

    /// The pulls sent since last looked.
    fn pulls(&mut self) -> Vec<(u64, PullRequest)> {
        let mut pulls = Vec::new();
        for output in &self.out {
            if let WorkerOutput::Server { input: ServerInput::Pull { pull, request, .. }, .. } = output {
                pulls.push((*pull, request.clone()));
            }
        }
        self.out
            .retain(|output| !matches!(output, WorkerOutput::Server { input: ServerInput::Pull { .. }, .. }));
        pulls
    }

    fn answer(&mut self, (pull, request): &(u64, PullRequest), version: Step) {
        let rows =
            request.tables.iter().map(|table| Rows { dim: 5, values: vec![0.1; table.keys.len() * 5] });
        let known = request.dense_known == Some(version);
        let dense = (!known).then(|| Arc::from(vec![0.01; deepfm().spec().dense_len()]));
        let reply = PullReply { version, rows: rows.collect(), dense };
        self.take(WorkerInput::Rows { server: SERVER, pull: *pull, reply });
    }

    fn train(&mut self) -> BatchId {
        let batch = self.grant();
        for pull in self.pulls() {
            self.answer(&pull, Step(0));
        }
        self.worker.compute(&mut self.out);
        batch
    }
}

#[test]
fn pulling_ahead_asks_and_pulls_before_it_computes() {
    for pull_ahead in [false, true] {
        let mut bench = Bench::new(WorkerOptions { pull_ahead, ..WorkerOptions::default() });
        assert!(bench.requested());
        bench.grant();
        assert_eq!(bench.pulls().len(), 1);
        assert_eq!(bench.requested(), pull_ahead, "the first batch has been pulled and not computed");
        if pull_ahead {
            bench.grant();
            assert_eq!(bench.pulls().len(), 1);
            assert!(!bench.requested(), "one batch ahead and no more");
        }
    }
}

#[test]
fn pushes_that_wait_for_their_acknowledgement_are_bounded() {
    for unacknowledged_max in [1, 2, 3] {
        let mut bench = Bench::new(WorkerOptions { unacknowledged_max, ..WorkerOptions::default() });
        let mut pushed = Vec::new();
        for done in 0..unacknowledged_max {
            assert!(bench.requested(), "{done} of {unacknowledged_max} on their way");
            pushed.push(bench.train());
        }
        assert!(!bench.requested(), "{unacknowledged_max} pushes are on their way");
        bench.take(WorkerInput::Held { server: SERVER, batch: pushed[0] });
        assert!(bench.requested());
        let told = |output: &WorkerOutput| match output {
            WorkerOutput::Scheduler(SchedulerInput::Pushed { batch, report, .. }) => {
                Some((*batch, report.samples, report.labels.len()))
            }
            _ => None,
        };
        assert_eq!(bench.out.iter().filter_map(told).collect::<Vec<_>>(), [(pushed[0], 8, 8)]);
    }
}

#[test]
fn a_batch_pulled_ahead_is_computed_once_its_push_may_wait_too() {
    let mut bench = Bench::new(WorkerOptions { unacknowledged_max: 1, pull_ahead: true });
    let (first, second) = (bench.grant(), bench.grant());
    for pull in bench.pulls() {
        bench.answer(&pull, Step(0));
    }
    bench.worker.compute(&mut bench.out);
    assert!(!bench.worker.can_compute(), "the push of batch {first} is on its way");
    assert_eq!(bench.worker.waits_for(), Wait::Acknowledgement);
    bench.take(WorkerInput::Held { server: SERVER, batch: first });
    assert!(bench.worker.can_compute());
    assert_eq!(bench.worker.next_batch(), Some(second));
}

#[test]
fn what_was_lost_meanwhile_is_asked_for_no_more() {
    let mut bench = Bench::new(WorkerOptions::default());
    assert!(bench.requested());
    let refused = bench.train();
    assert!(bench.requested());
    bench.take(WorkerInput::Refused { server: SERVER, batch: refused, refusal: Refusal::LeaseEnded });
    let ranges = vec![RowRange { part: PartId(0), block: 0, start: 0, end: 8 }];
    let assignment = Assignment { batch: BatchId(9), token: Token(0), ranges, min_step: None };
    bench.take(WorkerInput::Scheduler(ToWorker::Train(assignment)));
    bench.take(WorkerInput::NotLoaded);
    assert!(bench.requested(), "the samples are gone, so it asks for others");
    let reported =
        |output: &WorkerOutput| matches!(output, WorkerOutput::Scheduler(SchedulerInput::Pushed { .. }));
    assert!(!bench.out.iter().any(reported), "a push whose lease had ended is not reported");
}

/// The later batch is answered first, with older parameters; it is computed last, so they are what the copy holds.
#[test]
fn the_version_of_the_dense_copy_follows_the_order_of_computing() {
    let mut bench = Bench::new(WorkerOptions { pull_ahead: true, ..WorkerOptions::default() });
    bench.grant();
    let first = bench.pulls().remove(0);
    bench.grant();
    let second = bench.pulls().remove(0);
    bench.answer(&second, Step(0));
    bench.answer(&first, Step(1));
    bench.worker.compute(&mut bench.out);
    bench.grant();
    assert_eq!(bench.pulls()[0].1.dense_known, Some(Step(0)));
}

fn server() -> Server<Shard> {
    let spec = Arc::new(deepfm().spec().clone());
    let update = optimizer(gearshift_embedding::OptimizerKind::Sgd);
    Server::new(SERVER, Shard::new(spec, &update, PartitionMap::new(1), SERVER, 1).unwrap(), false)
}

fn handle(server: &mut Server<Shard>, input: ServerInput) -> Vec<ServerOutput> {
    let mut out = Vec::new();
    server.handle(input, &mut out);
    out
}

fn push(batch: BatchId) -> ServerInput {
    let dense = vec![0.1; deepfm().spec().dense_len()];
    ServerInput::Push {
        worker: WORKER,
        epoch: EPOCH,
        push: Push { batch, samples: 8, dense, tables: vec![] },
    }
}

#[test]
fn a_pull_waits_for_the_step_that_it_names() {
    let mut server = server();
    let request = PullRequest { tables: vec![], dense_known: None };
    let pull = |min_step| ServerInput::Pull {
        worker: WORKER,
        epoch: EPOCH,
        pull: 4,
        request: request.clone(),
        min_step,
    };
    assert_eq!(handle(&mut server, pull(None)).len(), 1);
    assert_eq!(handle(&mut server, pull(Some(Step(0)))).len(), 1);
    assert_eq!(handle(&mut server, pull(Some(Step(2)))), []);
    for step in 0..2 {
        let batch = BatchId(step);
        assert_eq!(handle(&mut server, push(batch)).len(), 1);
        let members = vec![Member { batch, weight: 1.0 }];
        let commit = Commit { step: Step(step), members, divisor_samples: 8 };
        let answers = handle(&mut server, ServerInput::Scheduler(ToServer::Commit(commit)));
        if step == 0 {
            assert_eq!(answers, []);
            continue;
        }
        let [ServerOutput::Worker { input: WorkerInput::Rows { pull: 4, reply, .. }, .. }] = &answers[..]
        else {
            panic!("{answers:?}");
        };
        assert_eq!(reply.version, Step(2));
    }
}

#[test]
fn a_push_whose_lease_has_ended_is_refused_and_not_held() {
    let mut server = server();
    let release = |batch| ServerInput::Scheduler(ToServer::Release(batch));
    let refused = |out: &[ServerOutput]| {
        matches!(
            out,
            [ServerOutput::Worker { input: WorkerInput::Refused { refusal: Refusal::LeaseEnded, .. }, .. }]
        )
    };
    assert_eq!(handle(&mut server, release(BatchId(1))), []);
    assert!(refused(&handle(&mut server, push(BatchId(1)))));
    assert_eq!(server.store().held(), 0);
    assert!(!refused(&handle(&mut server, push(BatchId(2)))));
    assert_eq!(server.store().held(), 1);
    handle(&mut server, release(BatchId(2)));
    assert_eq!(server.store().held(), 0);
}

/// The bad value lies on one server; the other one has taken its part and must let it go.
#[test]
fn a_gradient_refused_by_one_server_is_held_by_none() {
    for gear in Gear::ALL {
        let mut job = Job::new(Data::new(2, &[&[100, 33]]), gear, 2, 3);
        job.poison_one_in = 1;
        let mut run = Run::new(&job, Order::random(2));
        let start = run.digest();
        run.finish();
        check_books(&run, &format!("{gear}"));
        let samples = run.scheduler.samples();
        assert_eq!(samples.failed + samples.discarded, 133, "{gear}: {samples:?}");
        assert_eq!(run.digest(), start, "{gear}: a refused gradient moved a parameter");
    }
}

#[test]
fn a_report_that_does_not_fit_its_batch_is_a_refused_gradient() {
    let report = |samples, versions: u64| BatchReport {
        samples,
        versions: (0..versions).map(Step).collect(),
        ..BatchReport::default()
    };
    for report in [report(9, 2), report(7, 2), report(8, 1)] {
        let mut run = Run::new(&Job::new(Data::new(2, &[&[100]]), Gear::Gba, 2, 2), Order::random(1));
        assert!(run.run_until(|run| run.workers[&0].machine.as_ref().unwrap().can_compute()));
        let batch = run.workers[&0].machine.as_ref().unwrap().next_batch().unwrap();
        run.scheduler_takes(SchedulerInput::Pushed { worker: WORKER, epoch: EPOCH, batch, report });
        run.finish();
        assert_eq!(run.scheduler.samples().failed, 8);
        let told = run.notices.iter().any(
            |notice| matches!(notice, Notice::GradientRefused { reason, .. } if reason.contains("same job")),
        );
        assert!(told, "{:?}", run.notices);
    }
}
