//! `[compare]`: what is refused, and the jobs of branches.

use std::path::Path;

use gearshift_coordination::Gear;

use super::super::Job;
use super::super::compare::CompareParts;
use super::super::load::JobSource;
use super::super::read::Source;
use super::golden::messages;

const PARTED: &str = r#"
[data]
kind = "generated"
[data.generated]
parts = 6
[batch]
global = 1024
local = 64
[compare]
base_parts = 3
[compare.speed.noise]
sigma = 0.8
[[compare.branch]]
name = "gba"
gears = ["gba", "synchronous"]
set = ["batch.local=128", "compare.speed.slow=[{workers = 1, factor = 3}]"]
base = "asynchronous"
base_set = ["gear.bound_clocks=8"]
"#;

#[test]
fn a_branch_and_its_base_have_jobs_of_their_own() {
    let source = JobSource::of(Source::of_text("job.toml", PARTED, Path::new("")), &["seed=7".to_owned()]);
    let job = source.job().unwrap();
    assert_eq!(job.compare_parts(), Ok(CompareParts { base: 3, branch: 2 }));
    assert_eq!((job.compare.seeds, job.compare.points.len()), (3, 4));
    let noise = job.compare.cluster().speed.noise.unwrap();
    assert_eq!((noise.sigma, noise.correlation), (0.8, 0.0));
    let branch = &job.compare.branch[0];
    assert_eq!(branch.gears, [Gear::Gba, Gear::Synchronous]);
    let (base, branched) = (source.base_of(branch).unwrap(), source.branch(branch).unwrap());
    assert_eq!((base.seed, base.gear.start, base.batch.local), (7, Gear::Asynchronous, 64));
    assert_eq!(base.gear.options.bound_clocks, 8);
    assert_eq!((branched.seed, branched.gear.start, branched.batch.local), (7, Gear::Synchronous, 128));
    assert_eq!((branched.gear.options.bound_clocks, branched.compare.speed.slow.len()), (2, 1));
    assert_eq!(base.compare.speed.slow.len(), 0);
}

#[test]
fn parts_are_shared_out_by_default() {
    let parts = |parts: u32| {
        let text = PARTED.replace("parts = 6", &format!("parts = {parts}")).replace("base_parts = 3", "");
        Job::parse("job.toml", &text, Path::new(""), &[]).map(|job| job.compare_parts().unwrap())
    };
    assert_eq!(parts(8), Ok(CompareParts { base: 4, branch: 3 }));
    assert_eq!(parts(3), Ok(CompareParts { base: 1, branch: 1 }));
    let found = parts(2).unwrap_err().to_string();
    assert!(found.contains("compare: expected base_parts + parts + 1 of at most the 2 parts"), "{found}");
    // Training needs no more parts than it has.
    let alone =
        "[data]\nkind = \"generated\"\n[data.generated]\nparts = 1\n[batch]\nglobal = 64\nlocal = 32\n";
    let job = Job::parse("job.toml", alone, Path::new(""), &[]).unwrap();
    assert!(job.compare_parts().is_err());
}

#[test]
fn problems_of_branches_name_them() {
    let text = PARTED.replace("base_parts = 3", "base_parts = 4\nparts = 2\npoints = [0.5, 0.25]");
    let more = r#"
[[compare.branch]]
name = "gba"
gears = []
"#;
    let expected = r#"4 problems in job.toml
job.toml:11: compare.parts: expected base_parts + parts + 1 of at most the 6 parts of [data], got 4 + 2 + 1; a branch needs parts after the base and one more to be evaluated on
job.toml:12: compare.points: expected shares above 0 and below 1, each above the last, got [0.5, 0.25]; the end of each part is evaluated in any case
job.toml:23: compare.branch.1.name: expected a name of its own, got that of compare.branch.0, "gba"; name it otherwise
job.toml:24: compare.branch.1.gears: expected at least one gear, got none; name the gear of each part, such as ["gba"]"#;
    assert_eq!(messages(&(text + more), &[]), expected);
}

#[test]
fn settings_of_branches_are_checked() {
    let text =
        PARTED.replace("batch.local=128", "batch.global=1000").replace("gear.bound_clocks=8", "seed=2");
    let expected = r#"2 problems in job.toml
job.toml:8: batch.local: in branch "gba": expected a divisor of batch.global = 1000, got 64; nearest: 50 or 100; or batch.global = 960 or 1024
base of branch "gba": seed: expected that of the job, got another; leave it as it is: a branch sees the same samples and goes on from the same parameters"#;
    assert_eq!(messages(&text, &[]), expected);
    let text = PARTED.replace("batch.local=128", "gear.tolerence=1").replace("gear.bound_clocks=8", "seed");
    let expected = r#"2 problems in job.toml
base of branch "gba", set "seed": expected key=value, got no `=`; write it as in --set batch.global=1024
branch "gba", set "gear.tolerence=1": gear.tolerence: unknown key; did you mean "tolerance_steps"?"#;
    assert_eq!(messages(&text, &[]), expected);
    let text = PARTED.replace("batch.local=128", "model.embedding_dim=4");
    assert!(messages(&text, &[]).contains("branch \"gba\": model: expected that of the base"));
}

#[test]
fn a_job_of_an_older_checkpoint_has_no_such_table() {
    let mut old: toml::Table = Job::default_demo().unwrap().to_toml().unwrap().parse().unwrap();
    assert!(old.remove("compare").is_some());
    let job = Job::parse("old.toml", &toml::to_string(&old).unwrap(), Path::new(""), &[]).unwrap();
    assert_eq!(job, Job::default_demo().unwrap());
}
