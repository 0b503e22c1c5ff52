//! Checks a batch, its rows and the dense parameters against the model before anything is computed.

use gearshift_types::{FeatureSpec, IndexedBatch, IndexedFeature, ModelSpec, Rows};

use crate::ShapeError;
use crate::simd::dispatch;

/// Every length, offset and position.
pub(super) fn shapes(
    spec: &ModelSpec,
    batch: &IndexedBatch,
    rows: &[Rows],
    dense: &[f32],
) -> Result<(), ShapeError> {
    let samples = batch.samples();
    equal(|| "samples of the batch (limit)".to_owned(), true, u32::try_from(samples).is_ok())?;
    equal(|| "dense features per sample".to_owned(), spec.dense_width, batch.dense_width)?;
    equal(|| "dense values of the batch".to_owned(), samples * spec.dense_width, batch.dense.len())?;
    equal(|| "dense parameters".to_owned(), spec.dense_len(), dense.len())?;
    equal(|| "tables of the batch".to_owned(), spec.tables.len(), batch.tables.len())?;
    equal(|| "pulled tables".to_owned(), spec.tables.len(), rows.len())?;
    for (i, ((table, keys), rows)) in spec.tables.iter().zip(&batch.tables).zip(rows).enumerate() {
        let what = |what: &str| format!("table {:?}: {what}", table.name);
        equal(|| what("position in the batch"), i, usize::from(keys.table.0))?;
        equal(|| what("floats per row"), table.dim(), rows.dim)?;
        equal(|| what("floats of all rows"), keys.keys.len() * table.dim(), rows.values.len())?;
    }
    equal(|| "features of the batch".to_owned(), spec.features.len(), batch.features.len())?;
    for (of, feature) in spec.features.iter().zip(&batch.features) {
        positions(of, feature, samples, batch.tables[usize::from(of.table.0)].keys.len())?;
    }
    Ok(())
}

/// Offsets cut all positions into one bag per sample, and every position names one of `keys` rows.
fn positions(
    of: &FeatureSpec,
    feature: &IndexedFeature,
    samples: usize,
    keys: usize,
) -> Result<(), ShapeError> {
    let what = |what: &str| format!("feature {:?}: {what}", of.name);
    match &feature.offsets {
        None => equal(|| what("positions (one per sample)"), samples, feature.positions.len())?,
        Some(offsets) => {
            equal(|| what("offsets"), samples + 1, offsets.len())?;
            equal(|| what("first offset"), 0, offsets[0])?;
            equal(|| what("last offset"), feature.positions.len(), offsets[samples] as usize)?;
            if let Some(at) = offsets.windows(2).position(|cut| cut[0] > cut[1]) {
                return Err(ShapeError {
                    what: what(&format!("offset {}", at + 1)),
                    expected: format!("at least {}", offsets[at]),
                    got: offsets[at + 1].to_string(),
                });
            }
        }
    }
    let mut largest = 0;
    max_of(&feature.positions, &mut largest);
    if !feature.positions.is_empty() && largest as usize >= keys {
        return Err(ShapeError {
            what: what("largest position"),
            expected: format!("below {keys}, the unique keys of its table"),
            got: largest.to_string(),
        });
    }
    Ok(())
}

fn equal<T: PartialEq + ToString>(
    what: impl FnOnce() -> String,
    expected: T,
    got: T,
) -> Result<(), ShapeError> {
    if expected == got {
        return Ok(());
    }
    Err(ShapeError { what: what(), expected: expected.to_string(), got: got.to_string() })
}

dispatch! {
    /// The largest of `values` and `largest`.
    fn max_of(values: &[u32], largest: &mut u32) = max_of_body;
}

#[inline(always)]
fn max_of_body(values: &[u32], largest: &mut u32) {
    *largest = values.iter().fold(*largest, |largest, &value| largest.max(value));
}
