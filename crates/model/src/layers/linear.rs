//! A fully connected layer with its bias and activation.

use crate::layers::product::{View, ViewMut, multiply};
use crate::layers::vector::{add_scaled_rows, dot_rows, outer};
use crate::simd::dispatch;

/// What a [`Linear`] layer does to its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    None,
    /// `max(0, x)`; its derivative at 0 is taken as 0.
    Relu,
}

/// `y = activation(x * weight + bias)`, with `x` `[samples, inputs]`, `weight` `[inputs, outputs]`, `bias`
/// `[outputs]` and `y` `[samples, outputs]`, all row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Width of `x`.
    pub inputs: usize,
    /// Width of `y`.
    pub outputs: usize,
    /// Applied to the sums.
    pub activation: Activation,
}

/// Where a sum over samples goes.
pub struct Total<'a> {
    /// The sums.
    pub values: &'a mut [f32],
    /// Add to what is there (a later block of the same batch), or overwrite it.
    pub accumulate: bool,
}

impl Linear {
    /// Computes `y`, overwritten. `weight_and_bias` holds the weight, then the bias.
    pub fn forward(&self, x: &[f32], weight_and_bias: &[f32], y: &mut [f32]) {
        let (weight, bias) = self.split(weight_and_bias);
        let samples = y.len() / self.outputs;
        if self.outputs == 1 {
            y.fill(0.0);
            dot_rows(x, weight, y);
        } else {
            multiply(
                ViewMut::new(y, samples, self.outputs, self.outputs),
                false,
                View::new(x, samples, self.inputs, self.inputs),
                View::new(weight, self.inputs, self.outputs, self.outputs),
            );
        }
        match self.activation {
            Activation::None => add_bias(y, bias),
            Activation::Relu => add_bias_relu(y, bias),
        }
    }

    /// Gradients from `dy`, the gradient at `y`, which becomes the gradient at the sums. `dx` (overwritten) takes
    /// the gradient at the first `dx.len() / samples` columns of `x`; empty when nobody needs it.
    pub fn backward(
        &self,
        x: &[f32],
        y: &[f32],
        weight_and_bias: &[f32],
        dy: &mut [f32],
        d_weight_and_bias: Total<'_>,
        dx: &mut [f32],
    ) {
        let (weight, _) = self.split(weight_and_bias);
        let Total { values, accumulate } = d_weight_and_bias;
        assert_eq!(values.len(), self.parameters(), "gradient of a linear layer");
        let (d_weight, d_bias) = values.split_at_mut(self.inputs * self.outputs);
        let samples = dy.len() / self.outputs;
        let columns = dx.len().checked_div(samples).unwrap_or(0);
        if !accumulate {
            d_bias.fill(0.0);
        }
        match self.activation {
            Activation::None => sum_rows(dy, d_bias),
            Activation::Relu => mask_and_sum_rows(dy, y, d_bias),
        }
        if self.outputs == 1 {
            if !accumulate {
                d_weight.fill(0.0);
            }
            add_scaled_rows(x, dy, d_weight);
            outer(dy, weight, columns, dx);
            return;
        }
        let dy = View::new(dy, samples, self.outputs, self.outputs);
        multiply(
            ViewMut::new(d_weight, self.inputs, self.outputs, self.outputs),
            accumulate,
            View::new(x, samples, self.inputs, self.inputs).transposed(),
            dy,
        );
        if columns > 0 {
            multiply(
                ViewMut::new(dx, samples, columns, columns),
                false,
                dy,
                View::new(weight, columns, self.outputs, self.outputs).transposed(),
            );
        }
    }

    /// Floats of weight and bias.
    #[must_use]
    pub fn parameters(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    fn split<'a>(&self, weight_and_bias: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        assert_eq!(weight_and_bias.len(), self.parameters(), "parameters of a linear layer");
        weight_and_bias.split_at(self.inputs * self.outputs)
    }
}

dispatch! {
    /// `y[s, c] += bias[c]`.
    fn add_bias(y: &mut [f32], bias: &[f32]) = add_bias_body;
}

dispatch! {
    /// `y[s, c] = max(0, y[s, c] + bias[c])`.
    fn add_bias_relu(y: &mut [f32], bias: &[f32]) = add_bias_relu_body;
}

dispatch! {
    /// `sum[c] += dy[s, c]` over all `s`.
    fn sum_rows(dy: &[f32], sum: &mut [f32]) = sum_rows_body;
}

dispatch! {
    /// Zeroes `dy` where `y` is 0, then `sum[c] += dy[s, c]` over all `s`.
    fn mask_and_sum_rows(dy: &mut [f32], y: &[f32], sum: &mut [f32]) = mask_and_sum_rows_body;
}

#[inline(always)]
fn add_bias_body(y: &mut [f32], bias: &[f32]) {
    for row in y.chunks_exact_mut(bias.len()) {
        for (y, &bias) in row.iter_mut().zip(bias) {
            *y += bias;
        }
    }
}

#[inline(always)]
fn add_bias_relu_body(y: &mut [f32], bias: &[f32]) {
    for row in y.chunks_exact_mut(bias.len()) {
        for (y, &bias) in row.iter_mut().zip(bias) {
            let sum = *y + bias;
            // Not `max`, which would hide a NaN.
            *y = if sum < 0.0 { 0.0 } else { sum };
        }
    }
}

#[inline(always)]
fn sum_rows_body(dy: &[f32], sum: &mut [f32]) {
    for row in dy.chunks_exact(sum.len()) {
        for (sum, &dy) in sum.iter_mut().zip(row) {
            *sum += dy;
        }
    }
}

#[inline(always)]
fn mask_and_sum_rows_body(dy: &mut [f32], y: &[f32], sum: &mut [f32]) {
    assert_eq!(dy.len(), y.len(), "mask_and_sum_rows");
    let width = sum.len();
    for (row, y) in dy.chunks_exact_mut(width).zip(y.chunks_exact(width)) {
        for ((dy, &y), sum) in row.iter_mut().zip(y).zip(sum.iter_mut()) {
            // A NaN activation passes its gradient on, so that it is seen and refused.
            *dy = if y == 0.0 { 0.0 } else { *dy };
            *sum += *dy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, step: usize) -> Vec<f32> {
        (0..len).map(|i| (i * step % 101) as f32 / 50.0 - 1.0).collect()
    }

    /// Sum over samples and outputs of `dy * y`, in f64, by the definition.
    fn objective(layer: &Linear, x: &[f64], parameters: &[f64], dy: &[f32]) -> f64 {
        let bias = layer.inputs * layer.outputs;
        let mut total = 0.0;
        for (s, x) in x.chunks(layer.inputs).enumerate() {
            for o in 0..layer.outputs {
                let products = x.iter().enumerate().map(|(i, x)| x * parameters[i * layer.outputs + o]);
                let sum = products.sum::<f64>() + parameters[bias + o];
                let y = if layer.activation == Activation::Relu { sum.max(0.0) } else { sum };
                total += f64::from(dy[s * layer.outputs + o]) * y;
            }
        }
        total
    }

    fn difference(values: &[f32], i: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
        let mut values: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
        let start = values[i];
        values[i] = start + 1e-6;
        let high = f(&values);
        values[i] = start - 1e-6;
        (high - f(&values)) / 2e-6
    }

    #[test]
    fn gradients_match_finite_differences() {
        for (inputs, outputs, activation) in [
            (5, 3, Activation::Relu),
            (4, 1, Activation::None),
            (3, 1, Activation::Relu),
            (17, 18, Activation::None),
        ] {
            let layer = Linear { inputs, outputs, activation };
            let samples = 6;
            let (x, parameters) = (numbers(samples * inputs, 37), numbers(layer.parameters(), 23));
            let dy = numbers(samples * outputs, 41);
            let mut y = vec![9.0; samples * outputs];
            layer.forward(&x, &parameters, &mut y);
            let plain = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            let want = objective(&layer, &plain(&x), &plain(&parameters), &dy);
            let got: f64 = y.iter().zip(&dy).map(|(&y, &dy)| f64::from(y) * f64::from(dy)).sum();
            assert!((got - want).abs() < 1e-4, "{layer:?}: {got} for {want}");

            let columns = inputs - 1;
            let (mut d, mut dx) = (vec![1.0; layer.parameters()], vec![9.0; samples * columns]);
            for accumulate in [false, true] {
                let total = Total { values: &mut d, accumulate };
                layer.backward(&x, &y, &parameters, &mut dy.clone(), total, &mut dx);
            }
            for (i, &d) in d.iter().enumerate() {
                let want = 2.0 * difference(&parameters, i, |p| objective(&layer, &plain(&x), p, &dy));
                assert!((f64::from(d) - want).abs() < 1e-4, "{layer:?}: parameter {i}: {d} for {want}");
            }
            for (i, &d) in dx.iter().enumerate() {
                let at = i / columns * inputs + i % columns;
                let want = difference(&x, at, |x| objective(&layer, x, &plain(&parameters), &dy));
                assert!((f64::from(d) - want).abs() < 1e-4, "{layer:?}: input {at}: {d} for {want}");
            }
        }
    }
}
