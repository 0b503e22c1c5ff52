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
    /// When the last message of a link reaches the receiver's card.
    reached: BTreeMap<(Place, Place), Time>,
    /// The last arrival on a link, where messages could overtake each other.
    last: BTreeMap<(Place, Place), Time>,
    /// Workers that are cut off, and until when.
    cut: BTreeMap<u32, Time>,
    /// Bytes sent so far.
    pub(crate) bytes: u64,
}

/// What comes next for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It arrives then.
    Arrives(Time),
    /// It stands before the receiver's card then; [`Network::receive`] says when it has passed it. Who comes first
    /// passes first, whoever was sent first.
    Reaches(Time),
}

impl Network {
    pub(crate) fn new(options: NetworkOptions, seed: u64) -> Self {
        Self {
            options,
            seed,
            messages: 0,
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            reached: BTreeMap::new(),
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

    /// Sends a message that is ready at `at`.
    pub(crate) fn send(&mut self, from: Place, to: Place, at: Time, bytes: u64) -> Way {
        self.bytes += bytes;
        let ends = [from, to].into_iter().filter_map(|place| match place {
            Place::Worker(worker) => self.cut.get(&worker).copied(),
            _ => None,
        });
        let mut begins = ends.fold(at, Time::max);
        let latency = self.latency_us(from, to) * 1e-6;
        if self.options.gbit.is_none() && self.options.link.is_empty() {
            return Way::Arrives(self.in_order(from, to, later(begins, latency)));
        }
        let (sending, receiving) = (self.seconds(from, bytes), self.seconds(to, bytes));
        // Held up by a cut it takes no turn on the sender's card, or all others would stand behind it.
        if begins == at {
            begins = begins.max(self.sending.get(&from).copied().unwrap_or_default());
            self.sending.insert(from, later(begins, sending));
        }
        // The first byte arrives while the last is still being sent. What is sent slower than the receiver's card could
        // take it keeps that card no longer than what is sent fast.
        let reaches = later(begins, latency + (sending - receiving).max(0.0));
        let last = self.reached.entry((from, to)).or_default();
        *last = reaches.max(*last);
        Way::Reaches(*last)
    }

    /// When a message that stands before the receiver's card now has passed it.
    pub(crate) fn receive(&mut self, from: Place, to: Place, now: Time, bytes: u64) -> Time {
        let free = self.receiving.get(&to).copied().unwrap_or_default();
        let passed = later(now.max(free), self.seconds(to, bytes));
        self.receiving.insert(to, passed);
        self.in_order(from, to, passed)
    }

    /// Messages of a link arrive in the order in which they were sent, though each may take longer at random.
    fn in_order(&mut self, from: Place, to: Place, mut at: Time) -> Time {
        let jitter = self.options.latency_jitter_us;
        if jitter > 0.0 {
            self.messages += 1;
            at = later(at, unit(self.seed, Purpose::Latency, 0, self.messages) * jitter * 1e-6);
        }
        if jitter > 0.0 || !self.cut.is_empty() {
            let last = self.last.entry((from, to)).or_default();
            at = at.max(*last);
            *last = at;
        }
        at
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
    use crate::cluster::LinkOptions;

    /// Messages of 125 kB, each from, to and when it is ready: when they arrive, in the order given.
    fn arrivals(network: &mut Network, messages: &[(Place, Place, u64)]) -> Vec<f64> {
        let bytes = 125_000;
        let mut arrived = vec![0.0; messages.len()];
        let mut before_cards = Vec::new();
        for (number, &(from, to, at)) in messages.iter().enumerate() {
            match network.send(from, to, Time(at), bytes) {
                Way::Arrives(at) => arrived[number] = at.0 as f64 * 1e-9,
                Way::Reaches(at) => before_cards.push((at, number)),
            }
        }
        before_cards.sort_unstable();
        for (at, number) in before_cards {
            let (from, to, _) = messages[number];
            arrived[number] = network.receive(from, to, at, bytes).0 as f64 * 1e-9;
        }
        arrived
    }

    fn network(link: &[LinkOptions]) -> Network {
        let options = NetworkOptions {
            latency_us: 1000.0,
            gbit: Some(1.0),
            link: link.to_vec(),
            ..NetworkOptions::default()
        };
        Network::new(options, 1)
    }

    fn close(got: &[f64], expected: &[f64]) {
        let near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6);
        assert!(near && got.len() == expected.len(), "{got:?}, expected {expected:?}");
    }

    const SERVER: Place = Place::Server(0);

    #[test]
    fn cards_take_one_message_at_a_time() {
        let [one, other] = [Place::Worker(1), Place::Worker(2)];
        // 125 kB take 1 ms on a card of 1 Gbit/s.
        close(&arrivals(&mut network(&[]), &[(one, SERVER, 0), (other, SERVER, 0)]), &[0.002, 0.003]);
        close(&arrivals(&mut network(&[]), &[(SERVER, one, 0), (SERVER, other, 0)]), &[0.002, 0.003]);
    }

    #[test]
    fn a_slow_link_holds_up_nobody_else() {
        let [slow, other] = [Place::Worker(0), Place::Worker(1)];
        let link = [LinkOptions { worker: 0, latency_us: None, gbit: Some(0.01) }];
        // 100 ms on the slow card, on which nothing happens before the message is there.
        let sent = [(slow, SERVER, 0), (other, SERVER, 10_000_000)];
        close(&arrivals(&mut network(&link), &sent), &[0.101, 0.012]);
        let received = [(SERVER, slow, 1_000_000_000), (SERVER, other, 1_010_000_000)];
        close(&arrivals(&mut network(&link), &received), &[1.101, 1.012]);
        let far = [LinkOptions { worker: 0, latency_us: Some(500_000.0), gbit: None }];
        close(&arrivals(&mut network(&far), &sent), &[0.501, 0.012]);
    }

    #[test]
    fn a_cut_link_holds_up_nobody_else() {
        let [cut, other] = [Place::Worker(0), Place::Worker(1)];
        let mut network = network(&[]);
        network.cut(0, Time(1_000_000_000));
        let messages = [
            (SERVER, cut, 1_000_000),
            (cut, SERVER, 1_000_000),
            (SERVER, other, 2_000_000),
            (other, SERVER, 2_000_000),
        ];
        close(&arrivals(&mut network, &messages), &[1.002, 1.002, 0.004, 0.004]);
        // What was held up is not overtaken.
        let after = [(SERVER, cut, 1_000_000_000), (cut, SERVER, 1_000_000_001)];
        close(&arrivals(&mut network, &after), &[1.003, 1.003]);
    }
}
