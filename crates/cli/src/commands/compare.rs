//! `gearshift compare`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gearshift_sim::compare::{Insight, insight};
use gearshift_types::PartId;

use crate::commands::{check_writable, print};
use crate::compare::cache::Cache;
use crate::compare::live::Live;
use crate::compare::plan::Plan;
use crate::compare::report::{self, CompareReport, FORMAT_VERSION, Rate, Run};
use crate::compare::run::{Runner, keys};
use crate::compare::stage::DataBySeed;
use crate::compare::tune::{Search, rate_sets};
use crate::compare::{describe, page};
use crate::job::command::JobArgs;
use crate::job::{JobSource, Problems};

/// Trains a base in one gear and continues it in every other gear: same checkpoint, same sample order, same
/// hyper-parameters, in virtual time. Shows what a shift costs or gains on your own data.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift compare job.toml                             every other gear against staying
  gearshift compare job.toml --tune                      search the learning rate of the base first
  gearshift compare job.toml --set compare.seeds=5       more seeds, less noise
  gearshift compare job.toml --set cluster.workers=16    another cluster
  gearshift compare job.toml --json - | jq .branches     for scripts

What is compared is said by [compare] of the job file (gearshift job keys lists it); without branches there,
each gear is compared, staying in it and going back every other part.

Results are kept in the output folder part by part: interrupt and run again to go on. Exit code: 0, or 1
when something failed.")]
pub(crate) struct Compare {
    #[command(flatten)]
    job: JobArgs,
    /// Search the learning rate of the base's gear first, and use it everywhere.
    #[arg(long)]
    tune: bool,
    /// Folder for the page (index.html), the report (report.json) and what is kept [default: runs/compare/NAME].
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Write the report to this file too (- for standard output, which then holds nothing else).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Threads [default: the number of cores]. Results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Forget what is kept and run everything anew.
    #[arg(long)]
    fresh: bool,
    /// Show neither progress nor tables.
    #[arg(long)]
    quiet: bool,
}

/// Seeds that each rate is tried with.
const TUNE_SEEDS: usize = 2;

/// Runs it.
pub(crate) fn run(args: &Compare) -> anyhow::Result<()> {
    let mut plan = Plan::new(&source(args, &[])?)?;
    let folder =
        args.output.clone().unwrap_or_else(|| Path::new("runs/compare").join(folder_name(&plan.job.name)));
    if let Some(path) = args.json.as_deref().filter(|path| path.as_os_str() != "-") {
        check_writable(path)?;
    }
    let cache = Cache::open(&folder.join("cache"))?;
    if args.fresh {
        cache.clear()?;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or(cores);
    if threads == 0 {
        bail!("--threads: expected at least 1, got 0");
    }
    say_on_interrupt(args.quiet)?;
    let (data, mut rate) = (DataBySeed::default(), describe::rate_of(&plan.job));
    if args.tune {
        let found;
        (found, rate) = tune(args, &plan, &cache, &data, threads)?;
        plan = Plan::new(&source(args, &found)?)?;
    }
    let legs: usize = plan.chains.iter().map(|chain| chain.legs.len()).sum();
    let live = Live::new(legs, args.quiet);
    for branch in &plan.branches {
        for advice in &branch.advice {
            live.say(&format!("warning: {}: {advice}", branch.name));
        }
    }
    let runner = Runner { cache: &cache, data: &data, live: &live, threads };
    let parts = runner.run(&plan.chains);
    live.finish();
    let mut parts: Vec<Option<_>> = parts?.into_iter().map(Some).collect();
    for (branch, chains) in plan.branches.iter_mut().zip(&plan.runs) {
        for (&seed, &chain) in plan.seeds.iter().zip(chains) {
            let parts = parts[chain].take().context("a chain belongs to one branch")?;
            branch.runs.push(Run { seed, parts });
        }
    }
    let insight = look_at_base(&plan, &cache, &data)?;
    let report = CompareReport {
        format_version: FORMAT_VERSION,
        gearshift_version: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.job.name.clone(),
        job: plan.job.to_toml()?,
        parts_of_data: plan.job.parts(),
        base_parts: plan.parts.base,
        parts: plan.parts.branch,
        seeds: plan.seeds.clone(),
        rate,
        cluster: describe::cluster(&plan.job),
        branches: plan.branches,
        insight: Some(insight),
    };
    write(args, &folder, &report)
}

/// A job's name as the name of one folder: whatever would lead elsewhere, or may not stand in a name, becomes `_`.
fn folder_name(name: &str) -> String {
    let fit = |letter: char| if letter.is_control() || "/\\:*?\"<>|".contains(letter) { '_' } else { letter };
    // Most file systems take 255 bytes, a letter has at most 4.
    let name: String = name.chars().take(60).map(fit).collect();
    if name.starts_with('.') { name.replacen('.', "_", 1) } else { name }
}

/// The job with more settings put over those of the command line.
fn source(args: &Compare, sets: &[String]) -> Result<JobSource, Problems> {
    let sets: Vec<String> = args.job.sets.iter().chain(sets).cloned().collect();
    JobSource::open(args.job.job.as_deref(), &sets)
}

fn tune(
    args: &Compare,
    plan: &Plan,
    cache: &Cache,
    data: &DataBySeed,
    threads: usize,
) -> anyhow::Result<(Vec<String>, Rate)> {
    let seeds = &plan.seeds[..plan.seeds.len().min(TUNE_SEEDS)];
    let source = |sets: &[String]| source(args, sets);
    let search = Search { source: &source, job: &plan.job, parts: plan.parts, seeds };
    let live = Live::new(search.legs(), args.quiet);
    live.say("searching the learning rate");
    let found = search.run(&Runner { cache, data, live: &live, threads });
    live.finish();
    let (factor, rate) = found?;
    Ok((rate_sets(&plan.job, factor), rate))
}

/// What is measured at the end of the first base.
fn look_at_base(plan: &Plan, cache: &Cache, data: &DataBySeed) -> anyhow::Result<Insight> {
    let chain = &plan.chains[plan.first_base];
    let keys = keys(&plan.chains[..=plan.first_base])?;
    let key = keys.last().and_then(|keys| keys.last()).context("a base has parts")?;
    let state = cache.state(key).context("the base is no longer in the cache; run again")?;
    let leg = chain.legs.last().context("a base has parts")?;
    let stage = data.stage(&leg.job, chain.seed)?;
    insight(&stage, &state, PartId(plan.parts.base)).context("looking at the base")
}

fn write(args: &Compare, folder: &Path, report: &CompareReport) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let to_output = args.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
    let (page_path, json_path) = (folder.join("index.html"), folder.join("report.json"));
    let mut files = vec![(page_path.clone(), page::page(report)), (json_path, json.clone())];
    files.extend(args.json.iter().filter(|_| !to_output).map(|path| (path.clone(), json.clone())));
    for (path, text) in &files {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if to_output {
        return print(&json);
    }
    if !args.quiet {
        print(&report::tables(report))?;
        print(&format!("\nThe page: {}\n", page_path.display()))?;
    }
    Ok(())
}

/// An interrupt ends at once: whatever is done is kept.
fn say_on_interrupt(quiet: bool) -> anyhow::Result<()> {
    ctrlc::set_handler(move || {
        if !quiet {
            tracing::warn!("interrupted; parts that were done are kept, run the same command to go on");
        }
        std::process::exit(130);
    })
    .context("cannot watch for interrupts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_folder_below() {
        for (name, expected) in [
            ("mt", "mt"),
            ("Größe 2.5", "Größe 2.5"),
            ("..", "_."),
            ("../../etc", "_._.._etc"),
            ("/tmp/x", "_tmp_x"),
            ("a\\b\0c\n", "a_b_c_"),
        ] {
            assert_eq!(folder_name(name), expected);
        }
        assert!(folder_name(&"日".repeat(300)).len() <= 255);
    }
}
