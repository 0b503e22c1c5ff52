//! The simulated cluster and the rates of a job in words.

use gearshift_sim::cluster::{LoadPattern, SpeedOptions};

use crate::compare::report::Rate;
use crate::job::Job;

/// The rates as the job has them.
pub(crate) fn rate_of(job: &Job) -> Rate {
    let (sparse, dense) = (decimal(job.optimizer.sparse.rate), decimal(job.optimizer.dense.rate));
    Rate::FromJob { sparse, dense }
}

/// The number that a person wrote, not the nearest one in single precision.
pub(crate) fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// The cluster in one line.
pub(crate) fn cluster(job: &Job) -> String {
    let compare = &job.compare;
    let mut words = vec![speed(&compare.speed)];
    let network = &compare.network;
    let mut of_network = Vec::new();
    if network.latency_us > 0.0 {
        of_network.push(format!("latency {} us", network.latency_us));
    }
    if network.latency_jitter_us > 0.0 {
        of_network.push(format!("up to {} us more", network.latency_jitter_us));
    }
    if let Some(gbit) = network.gbit {
        of_network.push(format!("{gbit} Gbit/s per host"));
    }
    if !network.link.is_empty() {
        of_network.push(format!("{} workers with another link", network.link.len()));
    }
    words.push(if of_network.is_empty() {
        "a network that takes no time".to_owned()
    } else {
        of_network.join(", ")
    });
    let server = compare.server;
    if server == Default::default() {
        words.push("servers that take no time".to_owned());
    } else {
        words.push(format!(
            "servers: {} us a message, {} / {} / {} ns a row pulled / pushed / applied, {} ns a dense float, {} us a message of the scheduler",
            server.request_us,
            server.pull_row_ns,
            server.push_row_ns,
            server.apply_row_ns,
            server.apply_float_ns,
            server.scheduler_us
        ));
    }
    let servers = job.cluster.servers;
    words.push(format!("{servers} server{}", if servers == 1 { "" } else { "s" }));
    words.join("; ")
}

fn speed(speed: &SpeedOptions) -> String {
    let mut words = match &speed.trace {
        Some(path) => vec![format!("batch times from {}", path.display())],
        None => {
            let fixed = if speed.batch_us > 0.0 {
                format!(" and {} us a batch", speed.batch_us)
            } else {
                String::new()
            };
            vec![format!("{} us a sample{fixed}, +-{:.0} %", speed.sample_us, speed.jitter * 100.0)]
        }
    };
    words.extend(speed.slow.iter().map(|slow| format!("{} workers {}x slow", slow.workers, slow.factor)));
    if let Some(noise) = &speed.noise {
        words.push(format!("log-normal noise sigma {} (correlation {})", noise.sigma, noise.correlation));
    }
    if let Some(load) = &speed.load {
        let pattern = match load.pattern {
            LoadPattern::Calm => "calm",
            LoadPattern::Diurnal => "diurnal",
            LoadPattern::Bursty => "bursty",
        };
        words.push(format!("{pattern} load sigma {} by hours of {} s", load.sigma, load.hour_seconds));
    }
    words.join(", ")
}
