//! The list of a cluster file's keys, section by section.

use super::key_rows::{FAULT, NETWORK, SERVER, SPEED, WORKLOAD};
use crate::job::key_list::{BATCH, GEAR, GEARS};
use crate::job::keys::{KeyList, Kind, Presence, Row};
use Kind::{Above, Choice, Choices, Flag, Integer, Numbers, Text, Texts};
use Presence::{Default, Required};

#[rustfmt::skip]
const TOP: &[Row] = &[
    ("name", Text, Default, "\"cluster\"", "Name, shown above the tables."),
    ("seed", Integer(0, i64::MAX), Default, "1", "Seed of batch times and latencies. Runs draw the same time for the same batch of the same worker."),
    ("steps", Integer(1, 1_000_000_000), Default, "1000", "Each run is measured until the samples of so many global batches have met their fate."),
    ("gears", Choices(GEARS), Default, "[\"synchronous\", \"gba\"]", "Gears to run, when there is no [[run]]. The figures are set beside those of the first synchronous one."),
];

#[rustfmt::skip]
const CLUSTER: &[Row] = &[
    ("workers", Integer(1, 65_536), Default, "8", "Number of workers."),
    ("servers", Integer(1, gearshift_types::PARTITIONS as i64), Default, "1", "Number of servers."),
    ("pull_ahead", Flag, Default, "false", "Pull for the next batch while this one computes; costs one batch of version staleness."),
    ("unacknowledged_pushes", Integer(1, 1024), Default, "2", "Largest number of pushes of one worker that not all servers have acknowledged yet."),
    ("lease_seconds", Above(0.0, 1e9), Default, "60.0", "A worker that has shown no sign of life for so long is taken as dead; its samples are granted again."),
    ("drain_seconds", Above(0.0, 1e9), Default, "30.0", "A worker that holds up a shift for longer loses its lease."),
];

#[rustfmt::skip]
const RUN: &[Row] = &[
    ("name", Text, Required, "\"gba\"", "Name of a row of the tables."),
    ("gear", Choice(GEARS), Required, "\"gba\"", "Its gear."),
    ("set", Texts, Default, "[\"batch.local=512\"]", "Settings put over the file for this run, each key=value as for --set."),
];

#[rustfmt::skip]
const SCENARIO: &[Row] = &[
    ("name", Text, Required, "\"one worker at 3x\"", "Title of a table; without any [[scenario]] there is one table, of the file as it is."),
    ("set", Texts, Default, "[\"speed.slow=[{workers = 1, factor = 3}]\"]", "Settings put over the file for this table, each key=value as for --set."),
];

#[rustfmt::skip]
const SWEEP: &[Row] = &[
    ("key", Text, Required, "\"speed.noise.sigma\"", "A key of this file that takes a number: the x axis of the picture. Without [sweep]: one worker made slower and slower."),
    ("values", Numbers(f64::MIN, f64::MAX), Required, "[0.1, 0.3, 0.5, 0.8]", "Its values."),
];

/// All keys, in the order of the file.
pub(crate) const CLUSTER_FILE: KeyList = KeyList {
    sections: &[
        ("", TOP),
        ("batch.", BATCH),
        ("gear.", GEAR),
        ("cluster.", CLUSTER),
        ("speed.", SPEED),
        ("network.", NETWORK),
        ("server.", SERVER),
        ("workload.", WORKLOAD),
        ("fault[].", FAULT),
        ("run[].", RUN),
        ("scenario[].", SCENARIO),
        ("sweep.", SWEEP),
    ],
    optional_tables: &["speed.noise", "speed.load", "sweep"],
    exactly_one: &[],
    noun: "cluster",
    shown_by: "gearshift simulate --keys",
};
