//! Parses blocks of delimited text by a plan.

use gearshift_types::Batch;

use super::columns::{Columns, Cutter};
use super::plan::{Place, Plan};
use super::rule::Values;
use super::side::{Side, wrong_count};
use crate::numbers::parse_number;
use crate::options::OnBadLine;
use crate::shuffle::shuffle;
use crate::source::{BlockParser, DataError, Parsed, RawBlock};
use crate::text::bad::{excerpt, parse_lines};

pub(crate) struct DelimitedParser {
    pub plan: Plan,
    pub cutter: Cutter,
    /// One per join of the plan.
    pub sides: Vec<Side>,
    pub on_bad_line: OnBadLine,
    pub shuffle_seed: Option<u64>,
}

impl BlockParser for DelimitedParser {
    fn parse(&self, raw: &RawBlock) -> Result<Parsed, DataError> {
        let rows = raw.lines as usize;
        let mut labels = Vec::with_capacity(rows);
        let mut features: Vec<Values> =
            self.plan.features.iter().map(|(_, rule)| rule.values(rows)).collect();
        let mut scratch = Scratch { columns: Columns::default(), side_rows: Vec::new() };
        let (bad_lines, first_bad) = parse_lines(raw, self.on_bad_line, |line| {
            let label = self.parse_line(line, &mut scratch, &mut features);
            if label.is_err() {
                features.iter_mut().for_each(|feature| feature.truncate(labels.len()));
            }
            labels.push(label?);
            Ok(())
        })?;
        let mut batch = assemble(labels, features);
        if let Some(seed) = self.shuffle_seed {
            batch = shuffle(&batch, seed, raw.part, raw.block);
        }
        Ok(Parsed { batch, bad_lines, first_bad })
    }
}

struct Scratch {
    columns: Columns,
    /// The line's row in each side table.
    side_rows: Vec<usize>,
}

impl DelimitedParser {
    /// Adds one sample to the features and returns its label; on an error some features have it and some have not.
    fn parse_line(&self, line: &[u8], scratch: &mut Scratch, features: &mut [Values]) -> Result<f32, String> {
        let columns = &mut scratch.columns;
        self.cutter.cut(line, columns)?;
        if columns.len() != self.plan.columns.len() {
            return Err(wrong_count(&self.plan.columns, columns.len(), line));
        }
        let label = self.label(columns.get(line, self.plan.label))?;
        scratch.side_rows.clear();
        let joined = self.sides.iter().zip(&self.plan.joins);
        scratch.side_rows.extend(joined.map(|(side, &(_, on))| side.row(columns.get(line, on))));
        for (at, ((place, rule), values)) in self.plan.features.iter().zip(features).enumerate() {
            match *place {
                Place::Main(column) => rule.add(columns.get(line, column), values)?,
                Place::Side { join, .. } => self.sides[join].copy(at, scratch.side_rows[join], values),
            }
        }
        Ok(label)
    }

    fn label(&self, text: &[u8]) -> Result<f32, String> {
        let number = parse_number(text);
        let positive = match (self.plan.label_at_least, number) {
            (Some(limit), Some(number)) => number >= limit,
            (None, Some(0.0)) => false,
            (None, Some(1.0)) => true,
            (limit, _) => {
                let column = &self.plan.columns[self.plan.label];
                let expected = match limit {
                    Some(_) => "a number",
                    None => "0 or 1 (set label.at_least for other numbers)",
                };
                return Err(format!(
                    "expected {expected} in the label column {column}, got {}",
                    excerpt(text)
                ));
            }
        };
        Ok(f32::from(u8::from(positive)))
    }
}

fn assemble(labels: Vec<f32>, columns: Vec<Values>) -> Batch {
    let rows = labels.len();
    let (mut features, mut numbers) = (Vec::new(), Vec::new());
    for values in columns {
        match values.into_feature() {
            Ok(feature) => features.push(feature),
            Err(dense) => numbers.push(dense),
        }
    }
    let width = numbers.len();
    let mut dense = vec![0.0; rows * width];
    for (at, numbers) in numbers.iter().enumerate() {
        for (row, &number) in numbers.iter().enumerate() {
            dense[row * width + at] = number;
        }
    }
    Batch { labels, dense, dense_width: width, features }
}
