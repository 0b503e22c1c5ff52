//! Tells a run that goes on for ever and comes to nothing from one that takes long.

/// Looks for runs in which events follow each other for ever and nothing comes of them: workers whose leases end
/// before their batches do, or batches that take longer than anybody can wait for.
#[derive(Debug)]
pub(crate) struct Idle {
    most: u64,
    events: u64,
    resolved: u64,
}

impl Idle {
    /// Far above what a batch of every worker takes, heartbeats of months among it.
    pub(crate) fn new(workers: u32, servers: u32) -> Self {
        let messages = u64::from(workers) * (u64::from(servers) + 1);
        Self { most: 20_000_000 + 10_000 * messages, events: 0, resolved: 0 }
    }

    /// One more event, after which so many samples have met their fate.
    ///
    /// # Errors
    /// When too many events have passed since one did.
    pub(crate) fn look(&mut self, resolved: u64) -> Result<(), String> {
        self.events = if resolved == self.resolved { self.events + 1 } else { 0 };
        self.resolved = resolved;
        if self.events <= self.most {
            return Ok(());
        }
        Err(format!(
            "no sample has met its fate in the last {} events; is cluster.lease_seconds longer than a message is on its way, and do batches end within months?",
            self.most
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_which_nothing_comes_end_a_run() {
        let mut idle = Idle { most: 3, events: 0, resolved: 0 };
        let mut look = |resolved| idle.look(resolved).is_ok();
        assert!([0, 0, 0, 8, 8, 8, 8].into_iter().all(&mut look));
        assert!(!look(8));
    }
}
