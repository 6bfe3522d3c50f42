//! Streams between threads of Python.
//!
//! Both ends use explicit calls. A pointer would wait inside a touch, where nobody can give the GIL away: if the other end
//! is Python too, it would wait for ever.

use eagre::Pipe;
use pyo3::prelude::*;

use crate::arguments::block_size;
use crate::error;
use crate::reading::Stream;
use crate::writing::Sink;

/// The two ends of a new stream, whose blocks have so many bytes.
#[pyfunction]
pub(crate) fn pipe(block: usize) -> PyResult<(Sink, Stream)> {
    let block = block_size(block, "eagre.Pipe")?;
    let pipe = Pipe::builder().name("eagre.Pipe").block_size(block).explicit().open();
    let (writer, reader) = pipe.map_err(|failed| error::of_file(&failed.into()))?.split();
    Ok((Sink::new(writer), Stream::new(reader, false)))
}
