//! A multilayer perceptron with one output: hidden layers with ReLU, then a plain linear layer.

use crate::layers::linear::{Activation, Linear, Total};

/// The layers. Parameters lie one after the other, each layer's weight and then its bias.
#[derive(Clone, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
}

/// Activations and gradients between layers; grows to the largest block seen.
#[derive(Clone, Debug, Default)]
pub struct MlpScratch {
    /// Output of each layer but the last.
    hidden: Vec<Vec<f32>>,
    /// Gradient at the output of the layer at hand, and at its input.
    d_outputs: Vec<f32>,
    d_inputs: Vec<f32>,
}

impl Mlp {
    /// Layers from `inputs` over `hidden` widths to one output.
    #[must_use]
    pub fn new(inputs: usize, hidden: &[usize]) -> Self {
        let mut layers = Vec::with_capacity(hidden.len() + 1);
        let mut width = inputs;
        for &outputs in hidden {
            layers.push(Linear { inputs: width, outputs, activation: Activation::Relu });
            width = outputs;
        }
        layers.push(Linear { inputs: width, outputs: 1, activation: Activation::None });
        Self { layers }
    }

    /// The layers from the input on.
    #[must_use]
    pub fn layers(&self) -> &[Linear] {
        &self.layers
    }

    /// Floats of all parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(Linear::parameters).sum()
    }

    /// Computes `logits` (`[samples]`, overwritten) from `x` (`[samples, inputs]`).
    pub fn forward(&self, x: &[f32], parameters: &[f32], scratch: &mut MlpScratch, logits: &mut [f32]) {
        let samples = logits.len();
        scratch.hidden.resize_with(self.layers.len() - 1, Vec::new);
        let mut rest = parameters;
        for (i, layer) in self.layers.iter().enumerate() {
            let (own, others) = rest.split_at(layer.parameters());
            rest = others;
            let (before, from_here) = scratch.hidden.split_at_mut(i);
            let input = before.last().map_or(x, Vec::as_slice);
            match from_here.first_mut() {
                Some(output) => {
                    output.resize(samples * layer.outputs, 0.0);
                    layer.forward(input, own, output);
                }
                None => layer.forward(input, own, logits),
            }
        }
    }

    /// Gradients from `d_logits` after [`Mlp::forward`] with the same `x` and `scratch`: `d_parameters`, and into
    /// `dx` (overwritten) those at the first `dx.len() / samples` columns of `x`.
    pub fn backward(
        &self,
        x: &[f32],
        parameters: &[f32],
        scratch: &mut MlpScratch,
        d_logits: &[f32],
        d_parameters: Total<'_>,
        dx: &mut [f32],
    ) {
        let samples = d_logits.len();
        let MlpScratch { hidden, d_outputs, d_inputs } = scratch;
        let Total { values, accumulate } = d_parameters;
        let mut end = self.parameters();
        d_outputs.clear();
        d_outputs.extend_from_slice(d_logits);
        for (i, layer) in self.layers.iter().enumerate().rev() {
            let start = end - layer.parameters();
            let total = Total { values: &mut values[start..end], accumulate };
            let own = &parameters[start..end];
            // The last layer has no activation, so its output is not looked at.
            let y = hidden.get(i).map_or(&[][..], Vec::as_slice);
            if i == 0 {
                layer.backward(x, y, own, d_outputs, total, dx);
            } else {
                d_inputs.resize(samples * layer.inputs, 0.0);
                layer.backward(&hidden[i - 1], y, own, d_outputs, total, d_inputs);
                std::mem::swap(d_outputs, d_inputs);
            }
            end = start;
        }
    }
}
