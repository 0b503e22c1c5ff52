//! The list of a job file's keys, section by section.

use super::keys::{KeyList, Kind, Presence, Row};
use crate::cluster_file::key_rows::{NETWORK, SERVER, SPEED};
use Kind::{
    Above, Choice, Choices, Flag, Integer, Integers, Number, Numbers, Path, PathGroups, Paths, Text, Texts,
};
use Presence::{Default, Optional, Required};

const U32: i64 = u32::MAX as i64;
const MANY: i64 = i64::MAX;
const TRANSFORMS: &[&str] = &["log1p", "raw", "bucket"];
/// The words of the gears.
pub(crate) const GEARS: &[&str] =
    &["synchronous", "gba", "asynchronous", "bounded_staleness", "backup_workers", "k_batch"];

#[rustfmt::skip]
const TOP: &[Row] = &[
    ("name", Text, Default, "\"job\"", "Name of the run, shown in progress and written into checkpoints."),
    ("seed", Integer(0, MANY), Default, "1", "Seed of everything drawn at random: initial parameters, shuffles, generated data."),
];

#[rustfmt::skip]
const DATA: &[Row] = &[
    ("kind", Choice(&["generated", "criteo", "delimited"]), Required, "\"generated\"", "Where samples come from: a generated Criteo-shaped stream, Criteo's tab-separated format, delimited text with a schema."),
    ("folder", Path, Optional, "\"data\"", "Folder that the paths of this table are relative to; relative itself to the job file."),
    ("train", PathGroups, Default, "[\"day0.tsv\", [\"day1a.tsv\", \"day1b.tsv\"]]", "Parts in order, each one file or a list of files; .gz and .zst are unpacked. Not for generated data."),
    ("evaluate", Paths, Default, "[\"last.tsv\"]", "Files of a final evaluation set."),
    ("block_rows", Integer(1, 1 << 22), Default, "8192", "Rows per block: the unit of reading ahead and of shuffling."),
    ("shuffle", Flag, Default, "true", "Shuffle the rows inside each block, by the seed."),
    ("on_bad_line", Choice(&["skip", "stop"]), Default, "\"skip\"", "What to do with a line that cannot be read: leave it out and count it, or end the job."),
    ("bad_line_share_max", Number(0.0, 1.0), Default, "0.01", "With skip: the job stops when more than this share of the lines read is bad."),
    ("split.parts", Integer(1, U32), Required, "8", "Cut the rows of all train files into so many equal parts."),
    ("split.rows_per_part", Integer(1, MANY), Optional, "12288", "Rows per part; when absent the rows are counted first."),
    ("split.skip_rows", Integer(0, MANY), Default, "1696", "Rows left out at the start."),
    ("generated.parts", Integer(1, 1_000_000), Default, "8", "Number of parts (days)."),
    ("generated.samples_per_part", Integer(1, MANY), Default, "100000", "Samples per part."),
    ("generated.vocabularies", Integers(1, MANY), Default, "[1000, 100, 10]", "Vocabulary of each categorical field."),
    ("generated.dense", Integer(0, 65_536), Default, "13", "Number of dense features."),
    ("generated.zipf", Above(0.0, 10.0), Default, "1.05", "Exponent of the Zipf distribution of IDs."),
    ("generated.bias", Number(-50.0, 50.0), Default, "-1.6", "Intercept of the teacher's logit."),
    ("generated.first_order", Number(0.0, 100.0), Default, "0.3", "Strength of the teacher's first-order terms."),
    ("generated.pairwise", Number(0.0, 100.0), Default, "0.12", "Strength of the teacher's pairwise terms."),
    ("generated.drift", Number(0.0, 10.0), Default, "0.16", "Largest rotation of an ID's weight, radians per part."),
    ("generated.new_ids_every_parts", Integer(0, U32), Default, "20", "Every so many parts a rank of a field stands for a new ID; 0 = never."),
    ("criteo.integers", Choice(TRANSFORMS), Default, "\"log1p\"", "What becomes of the 13 integers: dense ln(1 + x), dense as they are, or categorical buckets."),
    ("delimited.delimiter", Text, Default, "\"::\"", "Separator of columns, one or more characters."),
    ("delimited.header", Flag, Default, "false", "Whether the first line names the columns."),
    ("delimited.columns", Texts, Default, "[\"user\", \"item\", \"rating\"]", "Names of the columns, needed without a header."),
    ("delimited.label.column", Text, Required, "\"rating\"", "Column of the label."),
    ("delimited.label.at_least", Number(f64::MIN, f64::MAX), Optional, "8.0", "Label 1 when the number is at least this, else 0; without it the column must hold 0 or 1."),
    ("delimited.feature[].name", Text, Required, "\"user\"", "Name of a feature; the order of the list is the model's."),
    ("delimited.feature[].column", Text, Required, "\"user\"", "Column of the file, or join.column of a side table."),
    ("delimited.feature[].kind", Choice(&["categorical", "numeric", "multi", "hour", "weekday"]), Default, "\"categorical\"", "What the column becomes."),
    ("delimited.feature[].table", Text, Optional, "\"users\"", "Table of its keys; features may share one. The feature's name when absent."),
    ("delimited.feature[].transform", Choice(TRANSFORMS), Default, "\"raw\"", "numeric: what becomes of the number."),
    ("delimited.feature[].separator", Text, Optional, "\"|\"", "multi, or categorical with nth: separator of the values inside the column."),
    ("delimited.feature[].nth", Integer(0, 1_000_000), Optional, "0", "categorical with separator: take the n-th value, from 0."),
    ("delimited.feature[].max_values", Integer(1, 1_000_000), Optional, "16", "multi: at most so many values, the first ones."),
    ("delimited.feature[].pooling", Choice(&["sum", "mean"]), Default, "\"mean\"", "multi: how the rows become one vector."),
    ("delimited.feature[].pattern", Text, Optional, "\"([0-9]{4})\"", "Regular expression; its first group, or the match, is the value."),
    ("delimited.join[].name", Text, Required, "\"movies\"", "Name of a side table, as features use it."),
    ("delimited.join[].file", Path, Required, "\"movies.dat\"", "Its file."),
    ("delimited.join[].delimiter", Text, Default, "\"::\"", "Its separator of columns."),
    ("delimited.join[].header", Flag, Default, "false", "Whether its first line names the columns."),
    ("delimited.join[].columns", Texts, Default, "[\"movie\", \"title\"]", "Names of its columns, needed without a header."),
    ("delimited.join[].key", Text, Required, "\"movie\"", "Its key column."),
    ("delimited.join[].on", Text, Required, "\"item\"", "Column of the main file with that key."),
];

#[rustfmt::skip]
const MODEL: &[Row] = &[
    ("kind", Choice(&["deepfm"]), Default, "\"deepfm\"", "Which model."),
    ("embedding_dim", Integer(1, 4096), Default, "8", "Length of an embedding."),
    ("hidden", Integers(1, 65_536), Default, "[64, 32]", "Widths of the hidden layers."),
    ("embedding_std", Number(0.0, 10.0), Default, "0.01", "Standard deviation of the normal distribution that embeddings start from."),
];

/// The same for rows (`sparse`) and dense parameters (`dense`).
#[rustfmt::skip]
const OPTIMIZER: &[Row] = &[
    ("kind", Choice(&["sgd", "adagrad", "row_wise_adagrad", "adam", "ftrl"]), Default, "\"adagrad\"", "Which update; row_wise_adagrad is for rows only."),
    ("rate", Number(0.0, 1000.0), Default, "0.05", "Learning rate."),
    ("initial_accumulator", Number(0.0, 1000.0), Default, "1e-8", "Adagrad: start of the accumulator. Tiny: row gradients are about 1/G in size."),
    ("epsilon", Number(0.0, 1.0), Default, "1e-8", "Adagrad, Adam: added to the root."),
    ("beta1", Number(0.0, 1.0), Default, "0.9", "Adam: decay of the first moment."),
    ("beta2", Number(0.0, 1.0), Default, "0.999", "Adam: decay of the second moment."),
    ("ftrl_beta", Number(0.0, 1000.0), Default, "1.0", "FTRL: the beta of its rate schedule."),
    ("l1", Number(0.0, 1000.0), Default, "0.0", "FTRL: L1 strength."),
    ("l2", Number(0.0, 1000.0), Default, "0.0", "FTRL: L2 strength."),
    ("weight_decay", Number(0.0, 1000.0), Default, "0.0", "L2 weight decay added to the gradient of every touched value."),
    ("clip_value", Above(0.0, 1e30), Optional, "1.0", "Clips each value of the mean gradient to -c..=c."),
];

#[rustfmt::skip]
const UPDATE: &[Row] = &[
    ("divisor", Choice(&["global", "id_batches"]), Default, "\"global\"", "What a row's summed gradient is divided by: the samples of the global batch, or (an ablation) the member batches that hold the ID."),
    ("clip_norm", Above(0.0, 1e30), Optional, "10.0", "Scales the whole mean gradient of a commit down to this L2 norm."),
];

#[rustfmt::skip]
pub(crate) const BATCH: &[Row] = &[
    ("global", Integer(1, U32), Required, "1024", "Samples of one update (G), in every gear: what the learning rate is tuned for."),
    ("local", Integer(1, U32), Required, "64", "Samples of one gradient (B) outside the synchronous gear; divides global."),
];

#[rustfmt::skip]
const START: &[Row] = &[
    ("start", Choice(GEARS), Default, "\"synchronous\"", "The gear at the start."),
];

/// The settings of all gears.
#[rustfmt::skip]
pub(crate) const GEAR: &[Row] = &[
    ("decay", Choice(&["hard", "power", "none", "version_power"]), Default, "\"hard\"", "gba: how a gradient loses weight with staleness."),
    ("tolerance_steps", Integer(0, U32), Default, "3", "gba, decay hard: largest staleness with weight 1 (the paper's iota)."),
    ("power", Number(0.0, 100.0), Default, "0.5", "gba, decay power and version_power: weight (1 + staleness)^-power."),
    ("tokens", Choice(&["position", "version"]), Default, "\"position\"", "gba: what a token holds: the batch's place in the grant order, or (an ablation) the version at pull."),
    ("bound_clocks", Integer(0, U32), Default, "2", "bounded_staleness: how many clocks a worker may be ahead of the slowest."),
    ("backups", Integer(0, U32), Default, "1", "backup_workers: how many of the N gradients of a step are not waited for."),
    ("k_batches", Integer(1, U32), Optional, "16", "k_batch: local batches per update; global / local when absent."),
];

#[rustfmt::skip]
const SHIFT: &[Row] = &[
    ("to", Choice(GEARS), Required, "\"gba\"", "The new gear."),
    ("at_sample", Integer(0, MANY), Optional, "100000", "Shift when so many samples of the run have been applied, dropped, discarded or failed."),
    ("at_part", Integer(0, U32), Optional, "1", "Shift when this part (from 0) is due."),
    ("at_seconds", Number(0.0, 1e9), Optional, "10.0", "Shift so many seconds after the start."),
];

#[rustfmt::skip]
const CLUSTER: &[Row] = &[
    ("workers", Integer(1, 65_536), Default, "4", "Number of workers."),
    ("servers", Integer(1, gearshift_types::PARTITIONS as i64), Default, "1", "Number of servers."),
    ("pull_ahead", Flag, Default, "false", "Pull for the next batch while this one computes; costs one batch of version staleness."),
    ("lease_seconds", Above(0.0, 1e9), Default, "60.0", "A worker that has shown no sign of life for so long is taken as dead; its samples are granted again."),
    ("unacknowledged_pushes", Integer(1, 1024), Default, "2", "Largest number of pushes of one worker that not all servers have acknowledged yet."),
    ("prefetch_blocks", Integer(1, 65_536), Default, "4", "Blocks of data that are read and parsed ahead."),
    ("on_nonfinite", Choice(&["drop", "stop"]), Default, "\"drop\"", "What becomes of a gradient that is not finite: refused and counted, or the job ends."),
    ("drain_seconds", Above(0.0, 1e9), Default, "30.0", "A worker that holds up a shift for longer loses its lease."),
];

#[rustfmt::skip]
const STRAGGLER: &[Row] = &[
    ("worker", Integer(0, 65_535), Required, "0", "A worker to slow down, from 0."),
    ("slow", Number(1.0, 1e6), Required, "3.0", "Each of its batches takes this many times as long."),
];

#[rustfmt::skip]
const FAULT: &[Row] = &[
    ("worker", Integer(0, 65_535), Required, "0", "A worker that fails, from 0."),
    ("kind", Choice(&["panic", "leave"]), Required, "\"panic\"", "How: in the middle of a batch, or after finishing it."),
    ("at_batch", Integer(0, MANY), Optional, "10", "In its batch of this number, from 0."),
    ("at_sample", Integer(0, MANY), Optional, "50000", "In the first of its batches that is granted after so many samples of the run."),
    ("rejoin_seconds", Number(0.0, 1e9), Optional, "5.0", "It comes back after so many seconds; never when absent."),
];

#[rustfmt::skip]
const CHECKPOINT: &[Row] = &[
    ("folder", Path, Optional, "\"runs/demo\"", "Folder of the checkpoints, relative to the working directory; without it none are taken."),
    ("every_samples", Integer(1, MANY), Optional, "1000000", "Take one after so many samples since the last."),
    ("every_minutes", Above(0.0, 1e9), Optional, "10.0", "Take one after so many minutes since the last."),
    ("at_part_end", Flag, Default, "true", "Take one at the end of every part of the data."),
    ("keep", Integer(1, U32), Default, "3", "How many are kept; older ones are deleted."),
];

#[rustfmt::skip]
const OUTPUT: &[Row] = &[
    ("json", Path, Optional, "\"runs/demo.json\"", "The report of the run as one JSON object."),
    ("commit_log", Path, Optional, "\"runs/demo.log\"", "The commit log, from which the run can be replayed bit for bit."),
];

#[rustfmt::skip]
const EVALUATE: &[Row] = &[
    ("each_part", Flag, Default, "true", "As soon as part d ends, evaluate on part d + 1."),
    ("batch", Integer(1, 1 << 24), Default, "4096", "Samples per evaluation batch."),
];

#[rustfmt::skip]
const COMPARE: &[Row] = &[
    ("base_parts", Integer(1, U32), Optional, "4", "gearshift compare: parts that the base is trained on before the branches part; half of the parts when absent."),
    ("parts", Integer(1, U32), Optional, "3", "Parts that each branch is trained on after the base; when absent all that are left but the last, which is evaluated on."),
    ("seeds", Integer(1, 1000), Default, "3", "Seeds, from `seed` on."),
    ("points", Numbers(0.0, 1.0), Default, "[0.05, 0.1, 0.25, 0.5]", "Shares of the first part after the base at which branches are evaluated, besides the end of each part."),
];

#[rustfmt::skip]
const BRANCH: &[Row] = &[
    ("name", Text, Required, "\"gba\"", "A way to go on from the base, by its name in the report."),
    ("gears", Choices(GEARS), Required, "[\"gba\"]", "Its gear in each part after the base, in turn."),
    ("set", Texts, Default, "[\"batch.local=128\"]", "Settings put over the job's for this branch, each key=value as for --set."),
    ("base", Choice(GEARS), Optional, "\"gba\"", "Gear of the base that it goes on from; gear.start when absent."),
    ("base_set", Texts, Default, "[\"gear.tolerance_steps=5\"]", "Settings put over the job's for that base."),
];

/// All keys, in the order of the file.
pub(crate) const JOB: KeyList = KeyList {
    sections: &[
        ("", TOP),
        ("data.", DATA),
        ("model.", MODEL),
        ("optimizer.", UPDATE),
        ("optimizer.sparse.", OPTIMIZER),
        ("optimizer.dense.", OPTIMIZER),
        ("batch.", BATCH),
        ("gear.", START),
        ("gear.", GEAR),
        ("shift[].", SHIFT),
        ("cluster.", CLUSTER),
        ("straggler[].", STRAGGLER),
        ("fault[].", FAULT),
        ("checkpoint.", CHECKPOINT),
        ("output.", OUTPUT),
        ("evaluate.", EVALUATE),
        ("compare.", COMPARE),
        ("compare.speed.", SPEED),
        ("compare.network.", NETWORK),
        ("compare.server.", SERVER),
        ("compare.branch[].", BRANCH),
    ],
    optional_tables: &["data.split", "data.delimited", "compare.speed.noise", "compare.speed.load"],
    exactly_one: &[
        ("shift[]", &["at_sample", "at_part", "at_seconds"]),
        ("fault[]", &["at_batch", "at_sample"]),
    ],
    noun: "job",
    shown_by: "gearshift job keys",
};
