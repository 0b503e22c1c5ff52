//! The keys of a simulated cluster: those of a cluster file, and of a job file's `[compare]`.

use crate::job::keys::{Kind, Presence, Row};
use Kind::{Above, Choice, Integer, Number, Path};
use Presence::{Default, Optional, Required};

/// Words of `fault[].kind`.
const FAULTS: &[&str] =
    &["worker_crash", "worker_vanish", "worker_pause", "link_cut", "server_crash", "scheduler_crash"];

#[rustfmt::skip]
pub(crate) const SPEED: &[Row] = &[
    ("sample_us", Number(0.0, 1e9), Default, "100.0", "Microseconds that a worker takes per sample."),
    ("batch_us", Number(0.0, 1e12), Default, "0.0", "Microseconds per batch on top."),
    ("jitter", Number(0.0, 0.999), Default, "0.1", "Each batch takes 1 - jitter to 1 + jitter times as long, uniformly."),
    ("trace", Path, Optional, "\"trace.csv\"", "CSV file with the header worker,seconds, relative to this file: batch times of each worker in order, used in turn. Replaces sample_us, batch_us and jitter."),
    ("noise.sigma", Number(0.0, 10.0), Default, "0.5", "Log-normal noise on every batch, exp(sigma * z): standard deviation of the logarithm. Without this table there is none."),
    ("noise.correlation", Number(0.0, 1.0), Default, "0.0", "Share of that variance that belongs to the worker and stays: 0 = each batch on its own, 1 = each worker has one speed."),
    ("load.pattern", Choice(&["calm", "diurnal", "bursty"]), Default, "\"calm\"", "Load by others, by the hour: a tenth of full always, up and down once a day, or three hours of ten full. Without this table there is none."),
    ("load.sigma", Number(0.0, 10.0), Default, "0.8", "Strength: in each hour each worker is slowed down by exp(load * sigma * |z|), drawn anew."),
    ("load.hour_seconds", Above(0.0, 1e9), Default, "3600.0", "Virtual seconds of an hour."),
    ("slow[].workers", Integer(1, 65_536), Required, "1", "How many workers are always slow: those with the highest numbers that no earlier entry took."),
    ("slow[].factor", Above(0.0, 1e6), Required, "3.0", "Each of their batches takes so many times as long."),
];

#[rustfmt::skip]
pub(crate) const NETWORK: &[Row] = &[
    ("latency_us", Number(0.0, 1e9), Default, "0.0", "Microseconds of a message from host to host."),
    ("latency_jitter_us", Number(0.0, 1e9), Default, "0.0", "Up to so many more, drawn for each message."),
    ("gbit", Above(0.0, 1e6), Optional, "25.0", "Gigabits per second of a host's network card; unlimited when absent."),
    ("link[].worker", Integer(0, 65_535), Required, "0", "A worker with another link, from 0."),
    ("link[].latency_us", Number(0.0, 1e9), Optional, "500.0", "Microseconds to and from it; as the network's when absent."),
    ("link[].gbit", Above(0.0, 1e6), Optional, "1.0", "Gigabits per second of its card; as the network's when absent."),
];

#[rustfmt::skip]
pub(crate) const SERVER: &[Row] = &[
    ("request_us", Number(0.0, 1e9), Default, "0.0", "Microseconds that a server takes per message."),
    ("pull_row_ns", Number(0.0, 1e9), Default, "0.0", "Nanoseconds per row of a pull."),
    ("push_row_ns", Number(0.0, 1e9), Default, "0.0", "Nanoseconds per row of a push."),
    ("apply_row_ns", Number(0.0, 1e9), Default, "0.0", "Nanoseconds per row of a gradient that is applied."),
    ("apply_float_ns", Number(0.0, 1e9), Default, "0.0", "Nanoseconds per dense float of a gradient that is applied, and of the parameters updated."),
    ("checkpoint_ms", Number(0.0, 1e9), Default, "0.0", "Milliseconds that writing a checkpoint takes."),
    ("scheduler_us", Number(0.0, 1e9), Default, "0.0", "Microseconds that the scheduler takes per message."),
];

#[rustfmt::skip]
pub(crate) const WORKLOAD: &[Row] = &[
    ("rows_per_sample", Number(0.0, 1e6), Default, "0.0", "Distinct rows per sample of a batch: what is pulled and pushed."),
    ("row_floats", Integer(0, 65_536), Default, "0", "Floats of a row."),
    ("dense_floats", Integer(0, 1 << 40), Default, "0", "Dense parameters, pulled and pushed with every batch."),
];

#[rustfmt::skip]
pub(crate) const FAULT: &[Row] = &[
    ("at_seconds", Number(0.0, 1e9), Required, "10.0", "Virtual seconds after the start."),
    ("kind", Choice(FAULTS), Required, "\"worker_crash\"", "What: a worker ends, ends without a word, stands still, is cut off; a server or the scheduler ends."),
    ("who", Integer(0, 65_535), Default, "0", "The worker, or the server of server_crash, from 0."),
    ("seconds", Above(0.0, 1e9), Optional, "5.0", "How long it lasts; a crash without it is for good."),
];
