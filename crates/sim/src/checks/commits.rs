//! commits: every server takes the same commits in the same order, without gaps, and its version counts them; the
//! log has exactly those commits (DESIGN: "the scheduler decides every commit; every server applies the same commits
//! in the same order").

use std::rc::Rc;

use gearshift_cluster::{LogEntry, Outcome, SchedulerOutput, ServerInput, ToServer};
use gearshift_types::{Commit, Member, ServerId, Step, Time};

use super::Check;
use super::books::Books;
use crate::moment::Moment;
use crate::search::Scenario;

#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    taken: usize,
    version: u64,
}

pub(super) struct Commits {
    decided: Vec<Commit>,
    /// By server.
    servers: Vec<Followed>,
    /// In the log, but servers have not been told.
    logged: Option<Commit>,
    completed: bool,
}

impl Commits {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        let servers = vec![Followed::default(); told.setup.scheduler.servers as usize];
        Self { decided: Vec::new(), servers, logged: None, completed: false }
    }

    fn said(&mut self, output: &SchedulerOutput) -> Result<(), String> {
        match output {
            SchedulerOutput::Log(entry) => {
                if let Some(commit) = commit_of(entry)
                    && let Some(before) = self.logged.replace(commit)
                {
                    return Err(format!("step {} is in the log but no server was told", before.step));
                }
            }
            SchedulerOutput::Servers(ToServer::Commit(commit)) => {
                let logged = self.logged.take();
                if logged.as_ref() != Some(commit) {
                    return Err(format!("servers are told {commit:?}, the log has {logged:?}"));
                }
                if commit.step.0 != self.decided.len() as u64 {
                    return Err(format!(
                        "expected step {}, step {} is committed",
                        self.decided.len(),
                        commit.step
                    ));
                }
                self.decided.push(commit.clone());
            }
            SchedulerOutput::Finished(outcome) => self.completed = *outcome == Outcome::Completed,
            _ => {}
        }
        Ok(())
    }

    fn server_takes(&mut self, server: ServerId, commit: &Commit) -> Result<(), String> {
        let followed = &mut self.servers[server.0 as usize];
        let expected = self.decided.get(followed.taken);
        if expected != Some(commit) {
            return Err(format!("server {server}: expected {expected:?}, it was told {commit:?}"));
        }
        followed.taken += 1;
        Ok(())
    }

    fn server_says(&mut self, server: ServerId, version: Step) -> Result<(), String> {
        let followed = &mut self.servers[server.0 as usize];
        let (before, taken) = (followed.version, followed.taken as u64);
        if version.0 < before || version.0 > taken {
            return Err(format!(
                "server {server}: version {version} after {before}, {taken} commits were taken"
            ));
        }
        followed.version = version.0;
        Ok(())
    }

    fn same_as_log(&self, log: &[LogEntry]) -> Result<usize, String> {
        let mut steps = 0;
        for commit in log.iter().filter_map(commit_of) {
            let decided = self.decided.get(steps);
            if decided != Some(&commit) {
                return Err(format!("the log has {commit:?} where {decided:?} was decided"));
            }
            steps += 1;
        }
        Ok(steps)
    }
}

fn commit_of(entry: &LogEntry) -> Option<Commit> {
    let LogEntry::Commit { step, divisor_samples, members } = entry else { return None };
    let members = members.iter().map(|member| Member { batch: member.batch, weight: member.weight });
    Some(Commit { step: *step, divisor_samples: *divisor_samples, members: members.collect() })
}

impl Check for Commits {
    const NAME: &'static str = "commits";

    fn check(&mut self, _books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::SchedulerSays { outputs, .. } => {
                outputs.iter().try_for_each(|output| self.said(output))?;
                match &self.logged {
                    None => Ok(()),
                    Some(commit) => Err(format!("step {} is in the log but no server was told", commit.step)),
                }
            }
            Moment::ServerTakes { server, input: ServerInput::Scheduler(ToServer::Commit(commit)) } => {
                self.server_takes(*server, commit)
            }
            Moment::ServerSays { server, version, .. } => self.server_says(*server, *version),
            Moment::RolledBack { log } => {
                let steps = self.same_as_log(log)?;
                self.decided.truncate(steps);
                self.servers.fill(Followed { taken: steps, version: steps as u64 });
                self.completed = false;
                Ok(())
            }
            Moment::Over { log, .. } => {
                let (steps, decided) = (self.same_as_log(log)?, self.decided.len());
                if steps != decided {
                    return Err(format!("the log has {steps} steps of {decided}"));
                }
                for (server, followed) in self.servers.iter().enumerate().filter(|_| self.completed) {
                    if followed.version != decided as u64 {
                        let version = followed.version;
                        return Err(format!("server {server} ended at version {version} of {decided}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
