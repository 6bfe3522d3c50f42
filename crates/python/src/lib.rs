//! The Python package of Eagre, the part in Rust: the module `eagre._eagre`.
//!
//! What is here only translates: arguments in, results and exceptions out. What needs no speed (layouts of arrays, file
//! objects) is Python, in `python/eagre`. Three rules hold in every function:
//!
//! 1. *No wait holds the GIL.* Work that may take long runs in `watch`, which also delivers signals.
//! 2. *Arrays are checked first*: `array` gives out slices of arrays that are contiguous, aligned and of one native type.
//! 3. *Errors are Python's*: `error` has them all.
//!
//! # Layers
//! A module uses only modules on lines below its own:
//!
//! ```text
//! argsort · arrow · check · copy · doctor · gather · generate · merge · network · parts · pipe · process · select · sort · stats · whole
//! sort_file
//! count · dtype · listening · mapped · output · reading · records · writing
//! chunk · element · watch
//! arguments · array · ends · order
//! error
//! ```
//!
//! # Unsafe code
//! The modules that allow it below: slices of the memory of arrays, and descriptors that Python gives away by their numbers.
#![deny(unsafe_code)]

mod argsort;
mod arguments;
#[allow(unsafe_code)]
mod array;
mod arrow;
mod check;
mod chunk;
mod copy;
mod count;
mod doctor;
mod dtype;
mod element;
mod ends;
mod error;
mod gather;
mod generate;
mod listening;
mod mapped;
mod merge;
mod network;
mod order;
mod output;
mod parts;
mod pipe;
#[allow(unsafe_code)]
mod process;
mod reading;
mod records;
mod select;
mod sort;
mod sort_file;
mod stats;
mod watch;
mod whole;
mod writing;

use pyo3::prelude::*;

/// The part of the package that is in Rust. Its functions are re-exported, with types, by `eagre`.
#[pymodule]
fn _eagre(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    for function in [
        wrap_pyfunction!(arrow::arrow_groups, module)?,
        wrap_pyfunction!(check::check_file, module)?,
        wrap_pyfunction!(copy::copy, module)?,
        wrap_pyfunction!(count::count, module)?,
        wrap_pyfunction!(count::find_all, module)?,
        wrap_pyfunction!(count::find_count, module)?,
        wrap_pyfunction!(doctor::doctor, module)?,
        wrap_pyfunction!(gather::gather, module)?,
        wrap_pyfunction!(generate::generate, module)?,
        wrap_pyfunction!(generate::generate_into, module)?,
        wrap_pyfunction!(merge::merge_file, module)?,
        wrap_pyfunction!(merge::merge_stream, module)?,
        wrap_pyfunction!(parts::sample_boundaries, module)?,
        wrap_pyfunction!(parts::sort_and_partition, module)?,
        wrap_pyfunction!(sort_file::index_file, module)?,
        wrap_pyfunction!(sort_file::sort_file, module)?,
        wrap_pyfunction!(stats::stats, module)?,
        wrap_pyfunction!(whole::checksum, module)?,
        wrap_pyfunction!(whole::first_malformed, module)?,
        wrap_pyfunction!(whole::is_descending, module)?,
        wrap_pyfunction!(whole::record_keys, module)?,
        wrap_pyfunction!(whole::tied, module)?,
    ] {
        module.add_function(function)?;
    }
    module.add_function(wrap_pyfunction!(argsort::argsort_rows, module)?)?;
    module.add_class::<chunk::Chunk>()?;
    module.add_class::<mapped::Mapped>()?;
    module.add_class::<network::Connector>()?;
    module.add_class::<network::Listener>()?;
    module.add_class::<network::Offered>()?;
    module.add_class::<network::Transfer>()?;
    module.add_class::<output::Hidden>()?;
    module.add_class::<process::Connection>()?;
    module.add_class::<process::ProcessListener>()?;
    module.add_class::<reading::Stream>()?;
    module.add_class::<writing::Sink>()?;
    module.add_function(wrap_pyfunction!(pipe::pipe, module)?)?;
    module.add_function(wrap_pyfunction!(select::select_rows, module)?)?;
    module.add_function(wrap_pyfunction!(sort::sort, module)?)?;
    module.add_function(wrap_pyfunction!(sort::sort_rows, module)?)?;
    Ok(())
}
