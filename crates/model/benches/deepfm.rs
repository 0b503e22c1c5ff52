//! Samples per second of the DeepFM learner alone (rows at hand, no server) on one core, beside the matrix products
//! of the same run, and where the time goes.
//!
//! `cargo bench -p gearshift-model [-- SECONDS]`: 26 features with a table each, Zipf 1.05 over 100,000 IDs, 13
//! dense features, dim 16, hidden 400-400-400. Stages take turns in rounds. Time is CPU time of the one thread, so
//! that a busy machine spoils little; shown are the best and the median round.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod clock;
mod shape;

use std::hint::black_box;
use std::time::{Duration, Instant};

use gearshift_model::deepfm::BLOCK;
use gearshift_model::layers::{
    FactorizationMachine, FieldLookup, Mlp, MlpScratch, Total, View, ViewMut, add_scaled_rows, dot_rows,
    log_loss, multiply,
};
use gearshift_model::{Learner, ModelOptions, build};
use gearshift_types::{Gradients, Pooling};
use shape::{DENSE, DIM, FIELDS, HIDDEN, WIDTH, Work, features, tables, work};

/// Distinct batches that each stage cycles through.
const BATCHES: usize = 8;

/// One stage over one batch, by number.
type Stage = fn(&mut Bench, usize);

fn main() {
    let seconds = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(10.0);
    let (cpu, commit) = (shape::cpu(), shape::commit());
    println!("machine: {cpu}, one core (CPU time); commit {commit}; blocks of {BLOCK} samples");
    for samples in [1024, 4096] {
        report(samples, seconds);
    }
}

fn report(samples: usize, seconds: f64) {
    let mut bench = Bench::new(samples);
    let stages: [(&str, Stage); 8] = [
        ("train", Bench::train),
        ("predict", Bench::predict),
        ("gather + pool", Bench::gather),
        ("FM forward + backward", Bench::fm),
        ("perceptron forward + backward", Bench::perceptron),
        ("  its matrix products (the roofline)", Bench::products),
        ("log loss, linear term", Bench::small),
        ("scatter", Bench::scatter),
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); stages.len()];
    let start = Instant::now();
    let mut round = 0;
    while round < 2 || start.elapsed().as_secs_f64() < seconds {
        for (&(_, stage), times) in stages.iter().zip(&mut times) {
            stage(&mut bench, round);
            let stage_start = clock::now();
            for i in 1..=4 {
                stage(&mut bench, round + i);
            }
            times.push((clock::now() - stage_start) / 4);
        }
        round += 1;
    }
    println!("\nbatch {samples}: {:.1} Mflop/batch, {round} rounds", bench.flop() / 1e6);
    println!("{:38} {:>10} {:>10} {:>11} {:>8}", "stage", "best ms", "median ms", "samples/s", "of train");
    let mut best = Vec::new();
    for ((name, _), times) in stages.iter().zip(&mut times) {
        times.sort_unstable();
        let (low, median) = (times[0].as_secs_f64(), times[times.len() / 2].as_secs_f64());
        best.push(low);
        let share = 100.0 * low / best[0];
        let rate = samples as f64 / low;
        println!("{name:38} {:>10.3} {:>10.3} {rate:>11.0} {share:>7.1}%", low * 1e3, median * 1e3);
    }
    let elementwise = (best[4] - best[5]) * 1e3;
    println!(
        "perceptron beyond its products: {elementwise:.3} ms; products {:.1} GFLOP/s; train at {:.1} % of the roofline",
        bench.flop() / best[5] / 1e9,
        100.0 * best[5] / best[0]
    );
}

/// The learner and, for the parts, the layers that it is made of.
struct Bench {
    samples: usize,
    learner: Box<dyn Learner>,
    work: Vec<Work>,
    dense: Vec<f32>,
    out: Gradients,
    predictions: Vec<f32>,
    mlp: Mlp,
    scratch: MlpScratch,
    fm: FactorizationMachine,
    fields: Vec<FieldLookup>,
    x: Vec<f32>,
    dx: Vec<f32>,
    sums: Vec<f32>,
    logits: Vec<f32>,
    d_logits: Vec<f32>,
    hidden: [Vec<f32>; 2],
}

impl Bench {
    fn new(samples: usize) -> Self {
        let options = ModelOptions { embedding_dim: DIM, hidden: HIDDEN.to_vec(), ..Default::default() };
        let learner = build(&options, &features(), &tables(), DENSE).unwrap();
        let dense = shape::dense(learner.spec());
        let mut bench = Self {
            samples,
            learner,
            work: (0..BATCHES as u64).map(|seed| work(samples, seed)).collect(),
            dense,
            out: Gradients::default(),
            predictions: Vec::new(),
            mlp: Mlp::new(WIDTH, &HIDDEN),
            scratch: MlpScratch::default(),
            fm: FactorizationMachine { fields: FIELDS, dim: DIM },
            fields: (0..FIELDS)
                .map(|i| FieldLookup { dim: DIM, column: i * DIM, pooling: Pooling::Sum })
                .collect(),
            x: vec![0.1; BLOCK * WIDTH],
            dx: vec![0.1; BLOCK * FIELDS * DIM],
            sums: vec![0.1; BLOCK * DIM],
            logits: vec![0.1; BLOCK],
            d_logits: vec![0.1; BLOCK],
            hidden: [vec![0.1; BLOCK * HIDDEN[0]], vec![0.1; BLOCK * HIDDEN[0]]],
        };
        bench.train(0);
        bench
    }

    /// Floating point operations of the hidden layers' products, the input gradient of dense features left out.
    fn flop(&self) -> f64 {
        let (mut inputs, mut columns, mut flop) = (WIDTH, FIELDS * DIM, 0);
        for outputs in HIDDEN {
            flop += 2 * (2 * inputs + columns) * outputs;
            (inputs, columns) = (outputs, outputs);
        }
        (flop * self.samples) as f64
    }

    fn train(&mut self, i: usize) {
        let Work { batch, rows } = &self.work[i % BATCHES];
        self.learner.train(batch, rows, &self.dense, &mut self.out).unwrap();
    }

    fn predict(&mut self, i: usize) {
        let Work { batch, rows } = &self.work[i % BATCHES];
        self.learner.predict(batch, rows, &self.dense, &mut self.predictions).unwrap();
    }

    fn gather(&mut self, i: usize) {
        let Work { batch, rows } = &self.work[i % BATCHES];
        for start in (0..self.samples).step_by(BLOCK) {
            for ((field, feature), rows) in self.fields.iter().zip(&batch.features).zip(rows) {
                let block = start..start + BLOCK;
                field.forward(feature, block, &rows.values, &mut self.x, WIDTH, &mut self.logits);
            }
        }
        black_box(&self.x);
    }

    fn scatter(&mut self, i: usize) {
        let Work { batch, rows } = &self.work[i % BATCHES];
        for (d_rows, rows) in self.out.rows.iter_mut().zip(rows) {
            d_rows.clear();
            d_rows.resize(rows.values.len(), 0.0);
        }
        for start in (0..self.samples).step_by(BLOCK) {
            for ((field, feature), d_rows) in self.fields.iter().zip(&batch.features).zip(&mut self.out.rows)
            {
                let block = start..start + BLOCK;
                field.backward(feature, block, &self.dx, FIELDS * DIM, &self.d_logits, d_rows);
            }
        }
        black_box(&self.out.rows);
    }

    fn fm(&mut self, _: usize) {
        for _ in 0..self.samples / BLOCK {
            self.fm.forward(&self.x, WIDTH, &mut self.sums, &mut self.logits);
            self.fm.backward(&self.x, WIDTH, &self.sums, &self.d_logits, &mut self.dx);
        }
        black_box(&self.dx);
        // Gradients that add up over rounds would end as infinities.
        self.dx.fill(0.1);
    }

    fn perceptron(&mut self, _: usize) {
        let parameters = &self.dense[..self.mlp.parameters()];
        for block in 0..self.samples / BLOCK {
            self.mlp.forward(&self.x, parameters, &mut self.scratch, &mut self.logits);
            let values = &mut self.out.dense[..self.mlp.parameters()];
            let total = Total { values, accumulate: block > 0 };
            self.mlp.backward(&self.x, parameters, &mut self.scratch, &self.d_logits, total, &mut self.dx);
        }
        black_box(&self.out.dense);
    }

    fn products(&mut self, _: usize) {
        for block in 0..self.samples / BLOCK {
            let (mut inputs, mut columns, mut at) = (WIDTH, FIELDS * DIM, 0);
            for outputs in HIDDEN {
                let weight = &self.dense[at..at + inputs * outputs];
                let d_weight = &mut self.out.dense[at..at + inputs * outputs];
                let [y, dy] = &mut self.hidden;
                let x = View::new(&self.x, BLOCK, inputs, inputs);
                let forward = View::new(weight, inputs, outputs, outputs);
                multiply(ViewMut::new(y, BLOCK, outputs, outputs), false, x, forward);
                let d_out = View::new(dy, BLOCK, outputs, outputs);
                multiply(ViewMut::new(d_weight, inputs, outputs, outputs), block > 0, x.transposed(), d_out);
                let back = View::new(weight, columns, outputs, outputs).transposed();
                multiply(ViewMut::new(&mut self.dx, BLOCK, columns, columns), false, d_out, back);
                at += (inputs + 1) * outputs;
                (inputs, columns) = (outputs, outputs);
            }
        }
        black_box(&self.out.dense);
    }

    fn small(&mut self, i: usize) {
        let batch = &self.work[i % BATCHES].batch;
        let weight = self.dense.split_at(self.mlp.parameters()).1;
        let d_weight = self.out.dense.split_at_mut(self.mlp.parameters()).1;
        self.predictions.resize(self.samples, 0.0);
        for start in (0..self.samples).step_by(BLOCK) {
            let inputs = &batch.dense[start * DENSE..(start + BLOCK) * DENSE];
            let (labels, predictions) =
                (&batch.labels[start..start + BLOCK], &mut self.predictions[start..start + BLOCK]);
            self.logits.fill(0.1);
            dot_rows(inputs, weight, &mut self.logits);
            black_box(log_loss(&self.logits, labels, predictions, &mut self.d_logits));
            add_scaled_rows(inputs, &self.d_logits, d_weight);
        }
    }
}
