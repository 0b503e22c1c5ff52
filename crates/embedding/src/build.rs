//! Why a shard cannot be built, and the checks that say so.

use std::collections::BTreeSet;

use gearshift_types::{Init, ModelSpec, PartitionMap, ServerId};

use crate::options::UpdateOptions;

/// A spec or options that no shard can be built from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The optimizer's options; all problems.
    #[error("{}", .0.join("; "))]
    Options(Vec<String>),
    /// The model's spec.
    #[error("model spec: {0}")]
    Spec(String),
    /// The server is not in the map.
    #[error("server {server} is not among the {servers} servers of the job")]
    Server {
        /// The server.
        server: ServerId,
        /// Number of servers.
        servers: u32,
    },
}

pub(crate) fn check_build(
    spec: &ModelSpec,
    options: &UpdateOptions,
    map: PartitionMap,
    server: ServerId,
) -> Result<(), BuildError> {
    let problems = options.validate();
    if !problems.is_empty() {
        return Err(BuildError::Options(problems));
    }
    if server.0 >= map.servers() {
        return Err(BuildError::Server { server, servers: map.servers() });
    }
    check_tables(spec).and_then(|()| check_dense(spec)).map_err(BuildError::Spec)
}

/// Longest vector; keeps every size of a row far from overflow.
const DIM_MAX: usize = 1 << 20;

fn check_tables(spec: &ModelSpec) -> Result<(), String> {
    if spec.tables.len() > usize::from(u16::MAX) {
        return Err(format!("{} tables; at most {} have an id", spec.tables.len(), u16::MAX));
    }
    let mut names = BTreeSet::new();
    for table in &spec.tables {
        if !names.insert(&table.name) {
            return Err(format!("two tables are called {:?}", table.name));
        }
        let dim = table.segments.iter().try_fold(0_usize, |sum, (len, _)| sum.checked_add(*len));
        if !dim.is_some_and(|dim| (1..=DIM_MAX).contains(&dim)) {
            return Err(format!("table {:?}: vectors must have 1 to {DIM_MAX} values", table.name));
        }
        for (_, init) in &table.segments {
            check_init(*init).map_err(|problem| format!("table {:?}: {problem}", table.name))?;
        }
    }
    Ok(())
}

fn check_dense(spec: &ModelSpec) -> Result<(), String> {
    let mut names = BTreeSet::new();
    let mut total = 0_usize;
    for tensor in &spec.dense {
        if !names.insert(&tensor.name) {
            return Err(format!("two dense tensors are called {:?}", tensor.name));
        }
        let len = tensor.shape.iter().try_fold(1_usize, |product, side| product.checked_mul(*side));
        total =
            len.and_then(|len| total.checked_add(len)).filter(|total| *total < usize::MAX / 16).ok_or_else(
                || format!("dense tensor {:?} of shape {:?} is too large", tensor.name, tensor.shape),
            )?;
        check_init(tensor.init).map_err(|problem| format!("dense tensor {:?}: {problem}", tensor.name))?;
    }
    Ok(())
}

fn check_init(init: Init) -> Result<(), String> {
    let (what, value) = match init {
        Init::Zero => return Ok(()),
        Init::Normal { std } => ("the standard deviation of a normal start", std),
        Init::Uniform { bound } => ("the bound of a uniform start", bound),
    };
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(format!("{what} must be finite and at least 0, got {value}"))
    }
}
