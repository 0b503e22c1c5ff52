//! Checks of the machines of a simulated cluster: those of a cluster file and those of `[compare]` in a job.

use gearshift_sim::cluster::{NetworkOptions, SpeedOptions};

use crate::job::places::Places;

/// Speeds and links of a cluster of `workers` workers; `prefix` stands before their keys.
pub(crate) fn machines(
    places: &mut Places<'_>,
    prefix: &str,
    speed: &SpeedOptions,
    network: &NetworkOptions,
    workers: u32,
) {
    let key = |name: &str| format!("{prefix}{name}");
    let still = speed.sample_us + speed.batch_us <= 0.0 && speed.trace.is_none();
    if still && places.usable(&[&key("speed.sample_us"), &key("speed.batch_us"), &key("speed.trace")]) {
        let what = "expected sample_us or batch_us above 0, got 0 for both".to_owned();
        places.report(&key("speed"), what, "batches must take some time".to_owned());
    }
    let slow: u64 = speed.slow.iter().map(|slow| u64::from(slow.workers)).sum();
    if slow > u64::from(workers) && places.whole(&key("speed.slow")) && places.usable(&["cluster.workers"]) {
        let what = format!("expected at most {workers} slow workers, got {slow} in all");
        places.report(&key("speed.slow"), what, format!("cluster.workers = {workers}"));
    }
    let links = &network.link;
    for (index, link) in links.iter().enumerate() {
        let path = |index: usize| key(&format!("network.link.{index}.worker"));
        places.worker(&path(index), link.worker, workers);
        let same = links[..index].iter().position(|earlier| earlier.worker == link.worker);
        if let Some(same) = same
            && places.usable(&[&path(index), &path(same)])
        {
            let first = key(&format!("network.link.{same}"));
            let what = format!("worker {} has a link of its own already: {first}", link.worker);
            places.report(&path(index), what, "leave one of the two out".to_owned());
        }
    }
}
