//! How it was measured, what to beware of, and how to do it again.

use maud::{Markup, html};

use super::super::report::{Rate, gears_text};
use super::Sheet;

/// Warnings about the branches' settings, each once, with the branches that it is about.
pub(super) fn warnings(sheet: &Sheet<'_>) -> Markup {
    let warnings = sheet.report.warnings();
    html! {
        @if !warnings.is_empty() {
            section #warnings {
                h2 { "Warnings" }
                ul {
                    @for (advice, branches) in &warnings {
                        li { (advice) br; span.quiet { "About: " (branches.join("; ")) } }
                    }
                }
            }
        }
    }
}

/// How it was measured.
pub(super) fn method(sheet: &Sheet<'_>) -> Markup {
    let report = sheet.report;
    html! {
        section #method {
            h2 { "How this was measured" }
            ol {
                li {
                    "For each of " (report.seeds.len()) " seeds a base was trained on the first " (report.base_parts) " of " (report.parts_of_data)
                    " parts of the data, in its own gear."
                }
                li {
                    "From the base's checkpoint each branch went on for " (report.parts) " more parts in its gears: the same parameters, optimizer "
                    "slots and step, the same order of samples, every hyper-parameter as it was but for what its settings below name."
                }
                li {
                    "At each point a copy of the parameters was evaluated on the part after. A difference is always between two runs of one seed, "
                    "so what the seeds share does not blur it."
                }
                li {
                    "Training is real: every gradient was computed and applied. Time is virtual: workers, network and servers were simulated, "
                    "so staleness, lost samples and speed are those of this cluster:"
                }
            }
            p.cluster { (report.cluster) }
            p { "Real clusters differ from simulated ones; the speed shown here says how the gears rank under these delays, not what a machine will do." }
        }
    }
}

/// Settings of every branch, the job, and the command.
pub(super) fn settings(sheet: &Sheet<'_>) -> Markup {
    let report = sheet.report;
    let command = match report.rate {
        Rate::FromJob { .. } => "gearshift compare job.toml",
        Rate::Searched { .. } => "gearshift compare job.toml --tune",
    };
    html! {
        section #settings {
            h2 { "Do it again" }
            p { "Save the job below as " code { "job.toml" } " beside its data and run, with gearshift " (report.gearshift_version) ":" }
            pre tabindex="0" { code { (command) } }
            p { "The same job and version give the same figures. Seeds: " (report.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")) "." }
            details {
                summary { "Settings of each branch" }
                div.scroll tabindex="0" role="region" aria-label="Settings of each branch" {
                    table.settings {
                        thead { tr { th scope="col" { "Branch" } th.words scope="col" { "Gears" } th scope="col" { "Workers" } th scope="col" { "Local batch" } th scope="col" { "Global batch" } th.words scope="col" { "Over the job" } } }
                        tbody {
                            @for branch in &report.branches {
                                tr {
                                    th scope="row" { (branch.name) }
                                    td.words { (gears_text(branch.base, &branch.gears)) }
                                    td { (branch.workers) }
                                    td { (branch.local_batch) }
                                    td { (branch.global_batch) }
                                    td.words { @for (place, setting) in branch.settings.iter().enumerate() { @if place > 0 { br; } code { (setting) } } }
                                }
                            }
                        }
                    }
                }
            }
            details { summary { "The job as it ran" } pre tabindex="0" { code { (report.job) } } }
        }
    }
}
