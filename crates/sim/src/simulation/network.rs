//! Messages on their way: latency, bandwidth, cut links.

use std::collections::BTreeMap;

use gearshift_types::Time;

use super::queue::Place;
use crate::cluster::NetworkOptions;
use crate::random::{Purpose, unit};

/// Bytes of a message besides rows and floats.
pub(crate) const MESSAGE_BYTES: u64 = 64;

/// Cards and links.
#[derive(Debug)]
pub(crate) struct Network {
    options: NetworkOptions,
    seed: u64,
    messages: u64,
    /// Until when a card sends.
    sending: BTreeMap<Place, Time>,
    /// Until when a card receives.
    receiving: BTreeMap<Place, Time>,
    /// The last arrival on a link, where messages could overtake each other.
    last: BTreeMap<(Place, Place), Time>,
    /// Workers that are cut off, and until when.
    cut: BTreeMap<u32, Time>,
    /// Bytes sent so far.
    pub(crate) bytes: u64,
}

impl Network {
    pub(crate) fn new(options: NetworkOptions, seed: u64) -> Self {
        Self {
            options,
            seed,
            messages: 0,
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            last: BTreeMap::new(),
            cut: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Nothing passes to and from a worker until then.
    pub(crate) fn cut(&mut self, worker: u32, until: Time) {
        let end = self.cut.entry(worker).or_default();
        *end = until.max(*end);
    }

    /// When a message that is ready at `at` arrives.
    pub(crate) fn arrival(&mut self, from: Place, to: Place, at: Time, bytes: u64) -> Time {
        self.bytes += bytes;
        self.messages += 1;
        let mut depart = at;
        for place in [from, to] {
            if let Place::Worker(worker) = place
                && let Some(&until) = self.cut.get(&worker)
            {
                depart = depart.max(until);
            }
        }
        if depart > at {
            // Held up by a cut: it takes no turn on the cards, or all others would stand behind it.
            let seconds = self.seconds(from, bytes).max(self.seconds(to, bytes));
            depart = later(depart, seconds + self.latency_us(from, to) * 1e-6);
        } else if self.options.gbit.is_some() || !self.options.link.is_empty() {
            depart = self.pass_cards(from, to, depart, bytes);
        } else {
            depart = later(depart, self.latency_us(from, to) * 1e-6);
        }
        if self.options.latency_jitter_us > 0.0 {
            let extra = unit(self.seed, Purpose::Latency, 0, self.messages) * self.options.latency_jitter_us;
            depart = later(depart, extra * 1e-6);
        }
        if self.options.latency_jitter_us > 0.0 || !self.cut.is_empty() {
            let last = self.last.entry((from, to)).or_default();
            depart = depart.max(*last);
            *last = depart;
        }
        depart
    }

    /// The sender's card, the latency, the receiver's card.
    fn pass_cards(&mut self, from: Place, to: Place, at: Time, bytes: u64) -> Time {
        let sent =
            later(at.max(self.sending.get(&from).copied().unwrap_or_default()), self.seconds(from, bytes));
        self.sending.insert(from, sent);
        let seconds = self.seconds(to, bytes);
        let latency = self.latency_us(from, to) * 1e-6;
        let free = self.receiving.get(&to).copied().unwrap_or_default();
        // The first byte arrives while the last is still being sent.
        let arrived = later(sent, latency).max(later(free, seconds));
        self.receiving.insert(to, arrived);
        arrived
    }

    fn seconds(&self, place: Place, bytes: u64) -> f64 {
        let own = self.own(place).and_then(|link| link.gbit);
        own.or(self.options.gbit).map_or(0.0, |gbit| bytes as f64 * 8e-9 / gbit)
    }

    fn latency_us(&self, from: Place, to: Place) -> f64 {
        let own = |place| self.own(place).and_then(|link| link.latency_us);
        own(from).or_else(|| own(to)).unwrap_or(self.options.latency_us)
    }

    fn own(&self, place: Place) -> Option<&crate::cluster::LinkOptions> {
        let Place::Worker(worker) = place else { return None };
        self.options.link.iter().find(|link| link.worker == worker)
    }
}

/// A point in time so many seconds later.
pub(crate) fn later(at: Time, seconds: f64) -> Time {
    Time(at.0.saturating_add((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_link_holds_up_nobody_else() {
        let options = NetworkOptions { latency_us: 1000.0, gbit: Some(1.0), ..NetworkOptions::default() };
        let mut network = Network::new(options, 1);
        let usual = network.arrival(Place::Scheduler, Place::Worker(1), Time(0), 64);
        network.cut(0, Time(1_000_000_000));
        let cut = network.arrival(Place::Scheduler, Place::Worker(0), Time(1_000_000), 64);
        assert!(cut > Time(1_000_000_000), "{cut:?}");
        network.arrival(Place::Worker(0), Place::Scheduler, Time(1_000_000), 64);
        let other = network.arrival(Place::Scheduler, Place::Worker(1), Time(2_000_000), 64);
        assert_eq!(other - Time(2_000_000), usual - Time(0), "to another worker");
        let back = network.arrival(Place::Worker(1), Place::Scheduler, Time(2_000_000), 64);
        assert_eq!(back - Time(2_000_000), usual - Time(0), "from another worker");
    }
}
