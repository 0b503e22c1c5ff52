//! Shuffles the rows of one block: a function of (seed, part, block) alone.

use gearshift_types::{Batch, Jagged, PartId};

use crate::random::{Stream, mix2};

/// The rows of `batch` permuted (Fisher and Yates) by `seed`, `part` and `block`.
#[must_use]
pub fn shuffle(batch: &Batch, seed: u64, part: PartId, block: u32) -> Batch {
    let rows = batch.samples() as u32;
    let mut order: Vec<u32> = (0..rows).collect();
    let mut stream = Stream::new(mix2(mix2(seed ^ 0x5348_5546, u64::from(part.0)), u64::from(block)));
    for at in (1..rows).rev() {
        order.swap(at as usize, stream.below(at + 1) as usize);
    }
    permute(batch, &order)
}

fn permute(batch: &Batch, order: &[u32]) -> Batch {
    let width = batch.dense_width;
    let mut dense = Vec::with_capacity(batch.dense.len());
    for &row in order {
        dense.extend_from_slice(&batch.dense[row as usize * width..(row as usize + 1) * width]);
    }
    Batch {
        labels: order.iter().map(|&row| batch.labels[row as usize]).collect(),
        dense,
        dense_width: width,
        features: batch.features.iter().map(|feature| permute_feature(feature, order)).collect(),
    }
}

fn permute_feature(feature: &Jagged, order: &[u32]) -> Jagged {
    if feature.offsets.is_none() {
        let values = order.iter().map(|&row| feature.values[row as usize]).collect();
        return Jagged { values, offsets: None };
    }
    let mut values = Vec::with_capacity(feature.values.len());
    let mut offsets = Vec::with_capacity(order.len() + 1);
    offsets.push(0);
    for &row in order {
        values.extend_from_slice(&feature.values[feature.range(row as usize)]);
        offsets.push(values.len() as u32);
    }
    Jagged { values, offsets: Some(offsets) }
}

#[cfg(test)]
mod tests {
    use gearshift_types::Key;

    use super::*;

    fn block(rows: u64) -> Batch {
        let mut bag = Jagged { values: vec![], offsets: Some(vec![0]) };
        for row in 0..rows {
            bag.values.extend((0..row % 4).map(|value| Key(row * 10 + value)));
            let end = bag.values.len() as u32;
            bag.offsets.as_mut().unwrap().push(end);
        }
        Batch {
            labels: (0..rows).map(|row| row as f32).collect(),
            dense: (0..rows * 2).map(|x| x as f32).collect(),
            dense_width: 2,
            features: vec![Jagged { values: (0..rows).map(Key).collect(), offsets: None }, bag],
        }
    }

    #[test]
    fn every_row_stays_whole_and_occurs_once() {
        let batch = block(500);
        let mixed = shuffle(&batch, 7, PartId(1), 2);
        let mut seen = vec![false; 500];
        for at in 0..500 {
            let row = mixed.labels[at] as usize;
            assert!(!std::mem::replace(&mut seen[row], true));
            assert_eq!(mixed.dense[at * 2..at * 2 + 2], batch.dense[row * 2..row * 2 + 2]);
            for (new, old) in mixed.features.iter().zip(&batch.features) {
                assert_eq!(new.values[new.range(at)], old.values[old.range(row)]);
            }
        }
    }

    #[test]
    fn seed_part_and_block_each_change_the_order_and_nothing_else_does() {
        let batch = block(100);
        let first = shuffle(&batch, 7, PartId(1), 2);
        assert_eq!(first, shuffle(&batch, 7, PartId(1), 2));
        assert_ne!(first, batch);
        for (seed, part, number) in [(8, 1, 2), (7, 2, 2), (7, 1, 3), (7, 2, 1)] {
            assert_ne!(first, shuffle(&batch, seed, PartId(part), number));
        }
    }

    #[test]
    fn the_first_place_is_taken_by_every_row_equally_often() {
        let batch = block(8);
        let mut counts = [0_u32; 8];
        for number in 0..8000 {
            counts[shuffle(&batch, 1, PartId(0), number).labels[0] as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    }
}
