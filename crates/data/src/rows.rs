//! Cuts and joins rows of blocks: a local batch is drawn from the block that a worker has open and, at its end,
//! the next one.

use std::ops::Range;

use gearshift_types::{Batch, Jagged};

/// Rows `rows` of `block`.
///
/// # Panics
/// When `rows` is not within the block or the block's columns have different lengths.
#[must_use]
pub fn slice(block: &Batch, rows: Range<u32>) -> Batch {
    gather(&[(block, rows)])
}

/// The rows of `pieces` one after the other, each copied once into vectors of the final size.
///
/// # Panics
/// When a range is not within its block, or the blocks differ in features or dense width.
#[must_use]
pub fn gather(pieces: &[(&Batch, Range<u32>)]) -> Batch {
    let Some((first, _)) = pieces.first() else { return Batch::default() };
    let rows = pieces.iter().map(|(_, rows)| rows.len()).sum::<usize>();
    let mut batch = Batch {
        labels: Vec::with_capacity(rows),
        dense: Vec::with_capacity(rows * first.dense_width),
        dense_width: first.dense_width,
        features: (0..first.features.len())
            .map(|at| {
                let values = pieces.iter().map(|(block, rows)| value_range(&block.features[at], rows).len());
                let bags = pieces.iter().any(|(block, _)| block.features[at].offsets.is_some());
                Jagged {
                    values: Vec::with_capacity(values.sum()),
                    offsets: bags.then(|| {
                        let mut offsets = Vec::with_capacity(rows + 1);
                        offsets.push(0);
                        offsets
                    }),
                }
            })
            .collect(),
    };
    for (block, rows) in pieces {
        append(&mut batch, block, rows.clone());
    }
    batch
}

/// Appends rows `rows` of `block` to `batch`; an empty default batch takes the block's shape.
///
/// # Panics
/// When `rows` is not within the block, or features or dense width differ.
pub fn append(batch: &mut Batch, block: &Batch, rows: Range<u32>) {
    if batch.features.is_empty() && batch.labels.is_empty() {
        batch.dense_width = block.dense_width;
        batch.features = block
            .features
            .iter()
            .map(|feature| Jagged { values: vec![], offsets: feature.offsets.as_ref().map(|_| vec![0]) })
            .collect();
    }
    let (start, end) = (rows.start as usize, rows.end as usize);
    assert!(start <= end && end <= block.samples(), "rows {rows:?} of a block of {}", block.samples());
    assert_eq!(batch.dense_width, block.dense_width, "dense features of the batch and of the block");
    assert_eq!(batch.features.len(), block.features.len(), "features of the batch and of the block");
    let before = batch.samples();
    batch.labels.extend_from_slice(&block.labels[start..end]);
    batch.dense.extend_from_slice(&block.dense[start * block.dense_width..end * block.dense_width]);
    for (to, from) in batch.features.iter_mut().zip(&block.features) {
        append_feature(to, before, from, &rows);
    }
}

fn append_feature(to: &mut Jagged, before: usize, from: &Jagged, rows: &Range<u32>) {
    if from.offsets.is_some() && to.offsets.is_none() {
        to.offsets = Some((0..=before as u32).collect());
    }
    let base = to.values.len() as u32;
    let values = value_range(from, rows);
    to.values.extend_from_slice(&from.values[values.clone()]);
    if let Some(offsets) = &mut to.offsets {
        match &from.offsets {
            Some(ends) => {
                let shift = |end: &u32| end - values.start as u32 + base;
                offsets.extend(ends[rows.start as usize + 1..=rows.end as usize].iter().map(shift));
            }
            None => offsets.extend(base + 1..=base + rows.len() as u32),
        }
    }
}

fn value_range(feature: &Jagged, rows: &Range<u32>) -> Range<usize> {
    match &feature.offsets {
        None => rows.start as usize..rows.end as usize,
        Some(offsets) => offsets[rows.start as usize] as usize..offsets[rows.end as usize] as usize,
    }
}
