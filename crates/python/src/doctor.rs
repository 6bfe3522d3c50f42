//! What this machine can do.

use eagre::doctor::{Value, examine};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

/// A fact: group, name, label, value, verdict, why, cure.
type Fact = (String, &'static str, &'static str, Py<PyAny>, String, Option<String>, Option<String>);

/// The trap and the mover that streams use.
type Pair = (String, String);

/// All facts, and the pair of trap and mover that streams use, if any works.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> PyResult<(Vec<Fact>, Option<Pair>)> {
    let diagnosis = py.detach(examine);
    let facts = diagnosis.facts.into_iter().map(|fact| {
        let (group, verdict) = (fact.group.to_string(), fact.verdict.to_string());
        Ok((group, fact.name, fact.label, object(py, fact.value)?, verdict, fact.why, fact.cure))
    });
    let pair = diagnosis.default.map(|pair| (pair.trap.to_string(), pair.mover.to_string()));
    Ok((facts.collect::<PyResult<_>>()?, pair))
}

/// A value as Python's: what is unknown is `None`, no limit is infinity.
fn object(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Text(text) => text.into_py_any(py),
        Value::Bytes(number) | Value::Count(number) => number.into_py_any(py),
        Value::Cpus(number) => number.into_py_any(py),
        Value::Flag(flag) => flag.into_py_any(py),
        Value::List(words) => words.into_py_any(py),
        Value::Unlimited => f64::INFINITY.into_py_any(py),
        _ => Ok(py.None()),
    }
}
