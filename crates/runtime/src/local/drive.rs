//! Starts the threads and drives the scheduler on the calling one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, never, select};
use gearshift_cluster::manifest::{FORMAT_VERSION, ManifestTable};
use gearshift_cluster::{
    Manifest, Notice, Outcome, Position, SchedulerInput, SchedulerOutput, Server, ServerFile, ServerInput,
    ToServer, ToWorker, WorkerInput,
};
use gearshift_embedding::{Shard, ShardDigest, ShardSummary};
use gearshift_types::{PARTITIONS, PartId, ServerId, Time, WorkerEpoch, WorkerId};

use super::assemble::Roles;
use super::recorder::Recorder;
use super::{Observer, RunError};
use crate::checkpoint::shard_file_name;
use crate::feeder::{FeederCommand, FeederNews};
use crate::job::LocalJob;
use crate::replay::{LogHeader, LogLine};
use crate::report::{RunReport, ServerPhases, TableReport, WorkerPhases};

/// How often time is told to the scheduler and progress to the observer.
const TICK: Duration = Duration::from_millis(100);

/// What roles tell the driver.
pub(super) enum ToDriver {
    /// For the scheduler.
    Input(SchedulerInput),
    /// A server's file of a checkpoint is written.
    ShardWritten { id: u64, server: ServerId, written: ShardSummary },
    /// A role cannot go on.
    Failed(RunError),
}

/// The running job as its calling thread sees it.
struct Driver<'a> {
    job: &'a LocalJob,
    roles: Roles,
    observer: &'a mut dyn Observer,
    recorder: Recorder,
    started: Instant,
    ticked: Instant,
    lives: BTreeMap<WorkerId, WorkerEpoch>,
    written: BTreeMap<u64, BTreeMap<ServerId, ShardSummary>>,
    checkpoints: Vec<String>,
    log: Option<BufWriter<File>>,
    parts_read: BTreeSet<PartId>,
    bad_lines: u64,
    first_bad_lines: Vec<String>,
    outcome: Option<Outcome>,
    error: Option<RunError>,
    starving: bool,
    out: Vec<SchedulerOutput>,
}

/// The threads of a job.
struct Threads {
    workers: Vec<JoinHandle<WorkerPhases>>,
    servers: Vec<JoinHandle<(Server<Shard>, ServerPhases)>>,
    feeder: Option<JoinHandle<()>>,
}

/// What threads leave behind: shards, and where the time of servers and workers went.
type Joined = (Vec<Server<Shard>>, BTreeMap<u32, ServerPhases>, BTreeMap<u32, WorkerPhases>);

impl Threads {
    /// Waits for all of them, also when one has panicked.
    fn join(self) -> Result<Joined, RunError> {
        let workers: Vec<_> = self.workers.into_iter().map(JoinHandle::join).collect();
        let feeder = self.feeder.map_or(Ok(()), JoinHandle::join);
        let servers: Vec<_> = self.servers.into_iter().map(JoinHandle::join).collect();
        let panicked = |role: String| RunError::Role(format!("{role} panicked"));
        feeder.map_err(|_| panicked("the thread that reads the data".to_owned()))?;
        let mut worker_phases = BTreeMap::new();
        for (worker, phases) in (0..).zip(workers) {
            worker_phases.insert(worker, phases.map_err(|_| panicked(format!("worker {worker}")))?);
        }
        let (mut shards, mut server_phases) = (Vec::new(), BTreeMap::new());
        for (server, joined) in (0..).zip(servers) {
            let (machine, phases) = joined.map_err(|_| panicked(format!("server {server}")))?;
            server_phases.insert(server, phases);
            shards.push(machine);
        }
        Ok((shards, server_phases, worker_phases))
    }
}

pub(super) fn drive(
    job: &LocalJob,
    mut roles: Roles,
    control: &Receiver<SchedulerInput>,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let log = open_log(job, roles.resumed_from.clone())?;
    let threads = start(&mut roles)?;
    let mut driver = Driver {
        recorder: Recorder::new(job.data.parts(), job.scheduler.parts),
        started: Instant::now(),
        ticked: Instant::now(),
        lives: BTreeMap::new(),
        written: BTreeMap::new(),
        checkpoints: Vec::new(),
        log,
        parts_read: BTreeSet::new(),
        bad_lines: 0,
        first_bad_lines: Vec::new(),
        outcome: None,
        error: None,
        starving: false,
        out: Vec::new(),
        job,
        roles,
        observer,
    };
    driver.run(control);
    driver.end(threads)
}

fn log_error(job: &LocalJob, error: impl std::fmt::Display) -> RunError {
    let path = job.commit_log.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    RunError::CommitLog { path, message: error.to_string() }
}

fn open_log(job: &LocalJob, resumed_from: Option<String>) -> Result<Option<BufWriter<File>>, RunError> {
    let Some(path) = &job.commit_log else { return Ok(None) };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| log_error(job, error))?;
    }
    let file = File::create(path).map_err(|error| log_error(job, error))?;
    let mut log = BufWriter::new(file);
    let header = LogHeader {
        format_version: crate::replay::FORMAT_VERSION,
        job_name: job.name.clone(),
        job: job.toml.clone(),
        servers: job.scheduler.servers,
        resumed_from,
    };
    write_line(&mut log, &LogLine::Header(header)).map_err(|error| log_error(job, error))?;
    Ok(Some(log))
}

fn write_line(log: &mut BufWriter<File>, line: &LogLine) -> std::io::Result<()> {
    serde_json::to_writer(&mut *log, line)?;
    log.write_all(b"\n")
}

fn start(roles: &mut Roles) -> Result<Threads, RunError> {
    let failed = |error: std::io::Error| RunError::Role(format!("cannot start a thread: {error}"));
    let spawn = |name: String| thread::Builder::new().name(name);
    let mut servers = Vec::new();
    for server in roles.servers.drain(..) {
        let name = format!("server-{}", server.id);
        servers.push(spawn(name).spawn(move || server.run()).map_err(failed)?);
    }
    let mut feeder = None;
    if let Some(ready) = roles.feeder.take() {
        feeder = Some(spawn("feeder".to_owned()).spawn(move || ready.run()).map_err(failed)?);
    }
    let mut workers = Vec::new();
    for worker in roles.workers.drain(..) {
        let name = format!("worker-{}", worker.id);
        workers.push(spawn(name).spawn(move || worker.run()).map_err(failed)?);
    }
    Ok(Threads { workers, servers, feeder })
}

impl Driver<'_> {
    fn now(&self) -> Time {
        Time(self.started.elapsed().as_nanos() as u64)
    }

    fn run(&mut self, control: &Receiver<SchedulerInput>) {
        let (inbox, mut news) = (self.roles.inbox.clone(), self.roles.news.clone());
        let mut control = control.clone();
        while self.outcome.is_none() && self.error.is_none() {
            select! {
                recv(inbox) -> message => match message {
                    Ok(message) => self.take(message),
                    Err(_) => self.error = Some(RunError::Role("all roles have ended".to_owned())),
                },
                recv(news) -> message => match message {
                    Ok(message) => self.take_news(message),
                    // It has said why.
                    Err(_) => news = never(),
                },
                recv(control) -> input => match input {
                    Ok(input) => self.handle(input),
                    // Nobody steers any more.
                    Err(_) => control = never(),
                },
                default(TICK) => {}
            }
            if self.ticked.elapsed() >= TICK {
                self.tick();
            }
        }
    }

    fn take(&mut self, message: ToDriver) {
        match message {
            ToDriver::Input(input) => self.handle(input),
            ToDriver::ShardWritten { id, server, written } => {
                self.written.entry(id).or_default().insert(server, written);
            }
            ToDriver::Failed(error) => self.error = Some(error),
        }
    }

    fn take_news(&mut self, news: FeederNews) {
        match news {
            FeederNews::Input(input) => self.handle(input),
            FeederNews::Position(done, all) => self.recorder.progress.read = (done, all),
            // A part is read to be evaluated on and again to be trained: count its bad lines once.
            FeederNews::BadLines(part, ..) if !self.parts_read.insert(part) => {}
            FeederNews::BadLines(_, count, first) => {
                self.bad_lines += count;
                let room = 10_usize.saturating_sub(self.first_bad_lines.len());
                self.first_bad_lines.extend(
                    first
                        .iter()
                        .take(room)
                        .map(|line| format!("{}:{}: {}", line.file.display(), line.line, line.reason)),
                );
            }
            FeederNews::Failed(error) => self.error = Some(error),
        }
    }

    fn tick(&mut self) {
        self.ticked = Instant::now();
        let lives: Vec<_> = self.lives.iter().map(|(&worker, &epoch)| (worker, epoch)).collect();
        for (worker, epoch) in lives {
            // A thread that died has said so; the others are alive, however long a batch takes.
            self.handle(SchedulerInput::Seen { worker, epoch });
        }
        self.handle(SchedulerInput::Tick);
        self.observer.progress(self.recorder.refresh(&self.roles.scheduler));
    }

    fn handle(&mut self, input: SchedulerInput) {
        match &input {
            SchedulerInput::Joined { worker, epoch } => {
                self.lives.insert(*worker, *epoch);
            }
            SchedulerInput::Left { worker, .. } => {
                self.lives.remove(worker);
            }
            _ => {}
        }
        let mut out = std::mem::take(&mut self.out);
        let now = self.now();
        self.roles.scheduler.handle(now, input, &mut out);
        for output in out.drain(..) {
            self.carry_out(output);
        }
        self.out = out;
        let enough = self.recorder.progress.evaluating
            || self.roles.scheduler.samples_left() >= self.roles.rows_needed;
        if !enough || self.starving {
            self.starving = !enough;
            self.roles.cache.set_starving(!enough);
        }
    }

    fn carry_out(&mut self, output: SchedulerOutput) {
        match output {
            SchedulerOutput::Worker { worker, epoch, message } => {
                if let ToWorker::Train(assignment) = &message {
                    let samples: u64 = assignment.ranges.iter().map(|range| u64::from(range.rows())).sum();
                    self.roles.granted.fetch_add(samples, Ordering::Relaxed);
                }
                if let Some(inbox) = self.roles.to_workers.get(worker.0 as usize) {
                    let _ = inbox.send((epoch, WorkerInput::Scheduler(message)));
                }
            }
            SchedulerOutput::Servers(message) => self.tell_servers(&message),
            SchedulerOutput::OpenPart { part, skip_blocks } => {
                let _ = self.roles.to_feeder.send(FeederCommand::Open { part, skip_blocks });
            }
            SchedulerOutput::BlockFinished { part, block } => self.roles.cache.remove(part, block),
            SchedulerOutput::FinishCheckpoint { id, position } => self.finish_checkpoint(id, *position),
            SchedulerOutput::Log(entry) => {
                if let Some(log) = self.log.as_mut()
                    && let Err(error) = write_line(log, &LogLine::Entry(entry))
                {
                    self.error = Some(log_error(self.job, error));
                }
            }
            SchedulerOutput::Notice(notice) => self.notice(&notice),
            SchedulerOutput::Finished(outcome) => self.outcome = Some(outcome),
        }
    }

    fn tell_servers(&self, message: &ToServer) {
        for server in &self.roles.to_servers {
            let _ = server.send(ServerInput::Scheduler(message.clone()));
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let finished = self.recorder.take(notice, &self.roles.scheduler);
        if let Some(part) = finished {
            self.observer.part(&part);
        }
        self.observer.notice(notice);
    }

    fn finish_checkpoint(&mut self, id: u64, position: Position) {
        let written = self.written.remove(&id).unwrap_or_default();
        let Some(folder) = &self.roles.checkpoints else { return };
        match folder.finish(id, &self.manifest(position, &written)) {
            Ok(path) => self.checkpoints.push(path.display().to_string()),
            Err(error) => self.error = Some(error.into()),
        }
    }

    fn manifest(&self, position: Position, written: &BTreeMap<ServerId, ShardSummary>) -> Manifest {
        let mut digest = ShardDigest::default();
        for summary in written.values() {
            digest.add(&summary.digest);
        }
        let tables = self.roles.spec.tables.iter().zip(&digest.tables).map(|(table, digest)| ManifestTable {
            name: table.name.clone(),
            dim: table.dim() as u64,
            rows: digest.rows,
            digest: digest.digest.to_string(),
        });
        let files = written.iter().map(|(&server, summary)| ServerFile {
            name: shard_file_name(server),
            bytes: summary.bytes,
            sha256: summary.sha256.clone(),
            rows: summary.digest.tables.iter().map(|table| (table.name.clone(), table.rows)).collect(),
        });
        Manifest {
            format_version: FORMAT_VERSION,
            gearshift_version: env!("CARGO_PKG_VERSION").to_owned(),
            job_name: self.job.name.clone(),
            job: self.job.toml.clone(),
            position,
            partitions: PARTITIONS,
            servers: self.job.scheduler.servers,
            tables: tables.collect(),
            dense_len: self.roles.spec.dense_len() as u64,
            dense_digest: digest.dense.to_string(),
            files: files.collect(),
            checksum: String::new(),
        }
    }

    /// Ends all threads and makes the report.
    fn end(mut self, threads: Threads) -> Result<RunReport, RunError> {
        let seconds = self.started.elapsed().as_secs_f64();
        self.roles.over.store(true, Ordering::Relaxed);
        if let Some(part) = self.recorder.stop(&self.roles.scheduler) {
            self.observer.part(&part);
        }
        self.observer.progress(self.recorder.refresh(&self.roles.scheduler));
        let Roles { scheduler, cache, inbox, news, to_workers, to_servers, to_feeder, .. } = self.roles;
        // With the channels gone nobody can wait for anybody.
        drop((inbox, news, to_workers, to_feeder));
        for server in &to_servers {
            let _ = server.try_send(ServerInput::Scheduler(ToServer::Stop));
        }
        drop(to_servers);
        cache.clear();
        let (shards, server_phases, worker_phases) = match threads.join() {
            Ok(joined) => joined,
            Err(error) => return Err(self.error.unwrap_or(error)),
        };
        let flushed = self.log.as_mut().map_or(Ok(()), |log| log.flush());
        if let Some(error) = self.error {
            return Err(error);
        }
        flushed.map_err(|error| log_error(self.job, error))?;
        let (tables, dense_digest) = tables(&shards);
        let samples = *scheduler.samples();
        Ok(RunReport {
            name: self.job.name.clone(),
            outcome: self.outcome.unwrap_or(Outcome::Completed),
            first_step: self.roles.first_step,
            step: scheduler.step().0,
            seconds,
            workers: self.job.scheduler.workers,
            servers: self.job.scheduler.servers,
            parts: self.recorder.parts,
            samples,
            samples_left: scheduler.samples_left(),
            ledger_adds_up: samples.read == samples.resolved() + scheduler.samples_left(),
            figures: scheduler.figures().clone(),
            shifts: self.recorder.shifts,
            worker_phases,
            server_phases,
            tables,
            dense_len: self.roles.spec.dense_len() as u64,
            dense_digest,
            bad_lines: self.bad_lines,
            first_bad_lines: self.first_bad_lines,
            refused_gradients: self.recorder.refused_gradients,
            checkpoints: self.checkpoints,
            incidents: self.recorder.incidents,
        })
    }
}

/// Sizes and digests of the tables over all servers.
fn tables(servers: &[Server<Shard>]) -> (Vec<TableReport>, String) {
    let mut digest = ShardDigest::default();
    let mut tables: Vec<TableReport> = Vec::new();
    for server in servers {
        let shard = server.store();
        digest.add(&shard.digest());
        for (index, memory) in shard.memory().tables.iter().enumerate() {
            if tables.len() <= index {
                tables.push(TableReport::default());
            }
            let table = &mut tables[index];
            table.rows += memory.rows as u64;
            table.vector_bytes += memory.vectors as u64;
            table.slot_bytes += memory.slots as u64;
            table.overhead_bytes += memory.overhead as u64;
        }
    }
    for (table, digest) in tables.iter_mut().zip(&digest.tables) {
        table.name.clone_from(&digest.name);
        table.digest = digest.digest.to_string();
    }
    (tables, digest.dense.to_string())
}
