//! A synchronous run is a function of job and data: timing, servers and blocks do not matter.

use std::path::Path;

use gearshift_embedding::OptimizerKind;

use crate::support::{clip, complete, digests, generated, job};

#[test]
fn digests_do_not_depend_on_servers_or_timing() {
    for (kind, norm) in
        [(OptimizerKind::Adagrad, None), (OptimizerKind::Adam, Some(0.05)), (OptimizerKind::Ftrl, Some(0.01))]
    {
        let base = || {
            // 1000 is no multiple of G, nor is G of the number of workers.
            let mut job = job(&generated(2, 1000), Path::new(""));
            job.scheduler.workers = 3;
            job.update.sparse.kind = kind;
            if let Some(norm) = norm {
                clip(&mut job, norm);
            }
            job
        };
        let first = complete(base());
        assert_eq!((first.samples.applied, first.step), (2000, 32), "every sample, every step");
        let expected = digests(&first);
        for servers in [1, 2, 3] {
            for straggler in [None, Some(0), Some(2)] {
                let mut job = base();
                job.scheduler.servers = servers;
                job.stragglers = straggler.map(|worker| (worker, 30.0)).into_iter().collect();
                job.worker.pull_ahead = servers == 2;
                job.worker.unacknowledged_max = servers;
                job.prefetch_blocks = servers;
                let got = digests(&complete(job));
                assert_eq!(got, expected, "{kind:?}, {servers} servers, straggler {straggler:?}");
            }
        }
        let mut other = base();
        other.update.sparse.rate *= 1.01;
        assert_ne!(digests(&complete(other)), expected, "a digest tells rates apart");
    }
}

#[test]
fn blocks_do_not_matter_without_shuffling() {
    let with = |block_rows| {
        let mut options = generated(2, 500);
        (options.block_rows, options.shuffle) = (block_rows, false);
        digests(&complete(job(&options, Path::new(""))))
    };
    let expected = with(64);
    for block_rows in [1, 7, 500, 5000] {
        assert_eq!(with(block_rows), expected, "block_rows {block_rows}");
    }
}
