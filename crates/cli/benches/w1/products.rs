//! The matrix products of a batch and nothing else: what a worker on this machine cannot beat.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use gearshift_model::deepfm::BLOCK;
use gearshift_model::layers::{View, ViewMut, multiply};

use super::{DENSE, DIM, FIELDS, HIDDEN};
use crate::{Case, cpu_of_thread};

/// What the products took, over all threads; wall time is that of the slowest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roofline {
    pub(crate) samples: f64,
    pub(crate) flop: f64,
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

impl Roofline {
    /// Two measurements one after the other.
    pub(crate) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.flop += other.flop;
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Runs the products for `seconds` on as many threads as the case has workers.
pub(crate) fn roofline(case: Case, seconds: f64) -> Roofline {
    let mut total = Roofline::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..case.workers).map(|_| scope.spawn(move || measure(seconds))).collect();
        for thread in threads {
            if let Ok(one) = thread.join() {
                let wall = total.wall.max(one.wall);
                total.add(one);
                total.wall = wall;
            }
        }
    });
    total
}

fn measure(seconds: f64) -> Roofline {
    let mut buffers = Buffers::default();
    buffers.block(false);
    let (wall, cpu) = (Instant::now(), cpu_of_thread());
    let (mut blocks, mut flop) = (0, 0.0);
    while wall.elapsed().as_secs_f64() < seconds {
        flop += buffers.block(blocks % 4 > 0);
        blocks += 1;
    }
    Roofline {
        samples: (blocks * BLOCK) as f64,
        flop,
        wall: wall.elapsed().as_secs_f64(),
        cpu: cpu_of_thread() - cpu,
    }
}

/// Inputs and outputs of a block, as the learner has them.
struct Buffers {
    x: Vec<f32>,
    y: Vec<f32>,
    dy: Vec<f32>,
    dx: Vec<f32>,
    weights: Vec<Vec<f32>>,
    d_weights: Vec<Vec<f32>>,
}

impl Default for Buffers {
    fn default() -> Self {
        let width = FIELDS * DIM + DENSE;
        let inputs = [width, HIDDEN[0], HIDDEN[1]];
        let weights: Vec<Vec<f32>> =
            inputs.iter().zip(HIDDEN).map(|(inputs, outputs)| vec![0.01; inputs * outputs]).collect();
        let wide = width.max(HIDDEN[0]);
        let [x, y, dy, dx] = [1.0, 0.0, 0.1, 0.0].map(|value| vec![value; BLOCK * wide]);
        Self { x, y, dy, dx, d_weights: weights.clone(), weights }
    }
}

impl Buffers {
    /// Forward, weight gradient and input gradient of each hidden layer. Floating point operations done.
    fn block(&mut self, accumulate: bool) -> f64 {
        let (mut inputs, mut columns, mut flop) = (FIELDS * DIM + DENSE, FIELDS * DIM, 0);
        for (layer, outputs) in HIDDEN.into_iter().enumerate() {
            let (weight, d_weight) = (&self.weights[layer], &mut self.d_weights[layer]);
            let x = View::new(&self.x, BLOCK, inputs, inputs);
            let y = ViewMut::new(&mut self.y, BLOCK, outputs, outputs);
            multiply(y, false, x, View::new(weight, inputs, outputs, outputs));
            let dy = View::new(&self.dy, BLOCK, outputs, outputs);
            let d_weight = ViewMut::new(d_weight, inputs, outputs, outputs);
            multiply(d_weight, accumulate, x.transposed(), dy);
            let back = View::new(weight, columns, outputs, outputs).transposed();
            multiply(ViewMut::new(&mut self.dx, BLOCK, columns, columns), false, dy, back);
            flop += 2 * BLOCK * outputs * (2 * inputs + columns);
            (inputs, columns) = (outputs, outputs);
        }
        black_box((&self.y, &self.dx, &self.d_weights));
        flop as f64
    }
}
