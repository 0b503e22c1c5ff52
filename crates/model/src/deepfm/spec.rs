//! DeepFM's parameters by name, shape and start.

use gearshift_types::{DenseTensor, FeatureSpec, Init, ModelSpec, TableSpec};

use crate::ModelOptions;
use crate::layers::Mlp;

/// Rows: the embedding, then the first-order weight. Dense: the perceptron's layers, then the linear weights.
/// Deep weights start by Glorot and Bengio 2010, eq. 12's variance `2 / (in + out)`.
pub(super) fn model_spec(
    options: &ModelOptions,
    features: &[FeatureSpec],
    tables: &[String],
    dense_width: usize,
    mlp: &Mlp,
) -> ModelSpec {
    let segments =
        vec![(options.embedding_dim, Init::Normal { std: options.embedding_std }), (1, Init::Zero)];
    let mut dense = Vec::new();
    for (i, layer) in mlp.layers().iter().enumerate() {
        let std = (2.0 / (layer.inputs + layer.outputs) as f32).sqrt();
        dense.push(DenseTensor {
            name: format!("deep.{i}.weight"),
            shape: vec![layer.inputs, layer.outputs],
            init: Init::Normal { std },
        });
        dense.push(DenseTensor {
            name: format!("deep.{i}.bias"),
            shape: vec![layer.outputs],
            init: Init::Zero,
        });
    }
    if dense_width > 0 {
        dense.push(DenseTensor {
            name: "linear.dense.weight".to_owned(),
            shape: vec![dense_width],
            init: Init::Zero,
        });
    }
    ModelSpec {
        features: features.to_vec(),
        tables: tables
            .iter()
            .map(|name| TableSpec { name: name.clone(), segments: segments.clone() })
            .collect(),
        dense_width,
        dense,
    }
}
