//! The steady state of a learner allocates nothing of its own.
//!
//! The `gemm` crate takes a packing buffer and a flag list per product and frees them at once; both are counted
//! here by running the same products alone.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(unsafe_code, reason = "a counting allocator implements an unsafe trait")]

mod reference;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gearshift_model::layers::{View, ViewMut, multiply};
use gearshift_types::Gradients;
use reference::{Shape, problem};

struct Counting;

thread_local! {
    /// Of this thread alone: the test runner's own do not count.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

/// Allocations of the products that one layer takes: forward, weight gradient, input gradient.
fn of_products(samples: usize, inputs: usize, outputs: usize, columns: usize) -> [usize; 3] {
    let (x, w, dy) = (vec![0.5; samples * inputs], vec![0.5; inputs * outputs], vec![0.5; samples * outputs]);
    let (mut y, mut dw, mut dx) =
        (vec![0.0; samples * outputs], vec![0.0; inputs * outputs], vec![0.0; samples * columns]);
    let view_x = View::new(&x, samples, inputs, inputs);
    let view_dy = View::new(&dy, samples, outputs, outputs);
    [
        allocations(|| {
            let out = ViewMut::new(&mut y, samples, outputs, outputs);
            multiply(out, false, view_x, View::new(&w, inputs, outputs, outputs));
        }),
        allocations(|| {
            multiply(ViewMut::new(&mut dw, inputs, outputs, outputs), false, view_x.transposed(), view_dy);
        }),
        allocations(|| {
            let w = View::new(&w, columns, outputs, outputs).transposed();
            multiply(ViewMut::new(&mut dx, samples, columns, columns), false, view_dy, w);
        }),
    ]
}

#[test]
fn the_steady_state_allocates_nothing_beyond_gemm() {
    let (dim, hidden, samples) = (16, [64, 48], 200);
    let mut problem = problem(Shape::Jagged, dim, &hidden, samples);
    let (fields, dense) = (5 * dim, 4);
    let mut out = Gradients::default();
    let mut predictions = Vec::new();
    let mut train = |problem: &mut reference::Problem| {
        problem.learner.train(&problem.batch, &problem.rows, &problem.dense, &mut out).unwrap();
    };
    train(&mut problem);
    let first = of_products(samples, fields + dense, hidden[0], fields);
    let second = of_products(samples, hidden[0], hidden[1], hidden[0]);
    for _ in 0..3 {
        let counted = allocations(|| train(&mut problem));
        assert_eq!(counted, first.iter().chain(&second).sum::<usize>(), "train");
    }
    let mut predict = |problem: &mut reference::Problem| {
        problem.learner.predict(&problem.batch, &problem.rows, &problem.dense, &mut predictions).unwrap();
    };
    predict(&mut problem);
    assert_eq!(allocations(|| predict(&mut problem)), first[0] + second[0], "predict");

    // Without hidden layers there is no product, so nothing is left to count.
    let mut shallow = reference::problem(Shape::Jagged, dim, &[], samples);
    train(&mut shallow);
    assert_eq!(allocations(|| train(&mut shallow)), 0, "train without hidden layers");
}
