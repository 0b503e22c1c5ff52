//! The page as text: whole, escaped, from nowhere else.

use maud::html;

use super::super::report::fixture;
use super::super::report::{CompareReport, Rate};
use super::page;

fn figures(page: &str) -> usize {
    page.matches("<svg class=\"picture\"").count()
}

#[test]
fn a_large_report() {
    let report = fixture::report();
    let page = page(&report);
    for branch in &report.branches {
        let escaped = html! { (branch.name) }.into_string();
        assert!(page.contains(&escaped), "{}", branch.name);
    }
    let shared = "an update averages 64 samples";
    assert_eq!(page.matches(shared).count(), 1, "a warning of two branches is given once");
    assert!(page.contains("About: asynchronous; asynchronous, 32 workers"));
    assert!(!page.contains("<fast"), "names are escaped");
    for section in ["branches", "accuracy", "speed", "staleness", "insight", "warnings", "method", "settings"]
    {
        assert!(page.contains(&format!("<section id=\"{section}\">")), "{section}");
    }
    // Wide and narrow: means, deltas of three groups and one magnified, speed, two norms, recurrence. Panels: AUC of
    // the 11 that shift, staleness of the 10 that have any.
    assert_eq!(figures(&page), 2 * (1 + 4 + 1 + 2 + 1) + 11 + 10);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn nothing_comes_from_elsewhere() {
    let page = page(&fixture::report());
    for word in
        ["http", "//", "<script", "<link", "@import", "url(", "src=", "<img", "<iframe", "onload", "NaN"]
    {
        let found = page.find(word).map(|at| &page[at.saturating_sub(40)..(at + 40).min(page.len())]);
        assert_eq!(found, None, "{word}");
    }
}

#[test]
fn says_how_the_rate_was_found() {
    let mut report = fixture::report();
    assert!(page(&report).contains("best of 5 tried"));
    if let Rate::Searched { chosen, .. } = &mut report.rate {
        *chosen = 4;
    }
    let at_edge = page(&report);
    assert!(at_edge.contains("class=\"note doubtful\"") && at_edge.contains("at the edge of what was tried"));
    report.rate = Rate::FromJob { sparse: 0.05, dense: 0.001 };
    let from_job = page(&report);
    assert!(from_job.contains("class=\"note doubtful\""));
    assert!(from_job.contains("not searched here") && from_job.contains("16 times more updates"));
    assert!(from_job.contains("compare job.toml</code>"));
}

#[test]
fn a_report_of_one_run_or_of_nothing() {
    let mut report = fixture::report();
    report.insight = None;
    report.seeds.truncate(1);
    report.branches.truncate(1);
    report.branches[0].runs.truncate(1);
    let alone = page(&report);
    assert!(alone.contains("No branch shifts gears") && !alone.contains("NaN"));
    report.branches[0].runs.clear();
    assert!(page(&report).contains("no figures"));
    // A file written by hand may name a reference that is not there.
    report.branches[0].reference = 7;
    assert!(!page(&report).contains("NaN"));
    let empty = CompareReport { branches: Vec::new(), ..report };
    assert!(page(&empty).contains("No branch shifts gears"));
}
