//! Errors of the library as exceptions of Python.

use std::io;
use std::path::Path;

use eagre::sort::SortError;
use eagre::{OpenError, StreamError, StreamErrorKind};
use eagre_mem::LookError;
use eagre_net::{NetError, NetErrorKind};
use pyo3::PyErr;
use pyo3::exceptions::{
    PyConnectionError, PyConnectionRefusedError, PyConnectionResetError, PyKeyboardInterrupt, PyMemoryError, PyOSError,
    PyPermissionError, PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError,
};

/// The number of an input/output error.
const EIO: i32 = 5;
/// The number of a connection that the other side has given up.
const ECONNRESET: i32 = 104;

/// The exception for a sort that did not end. One that was cancelled has an exception of its own already: whoever asked
/// the watch to stop raised it.
pub(crate) fn of_sort(function: &str, error: SortError) -> PyErr {
    let message = format!("{function}: {error}");
    match error {
        SortError::Memory { .. } => PyMemoryError::new_err(message),
        SortError::Cancelled => PyKeyboardInterrupt::new_err(message),
        SortError::Environment => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// The exception for a file: an `OSError` with its number, if it has one, so that `FileNotFoundError` is one.
pub(crate) fn of_file(error: &io::Error) -> PyErr {
    let message = error.to_string();
    match (error.kind(), errno(error)) {
        (io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData, None) => PyValueError::new_err(message),
        (io::ErrorKind::OutOfMemory, _) => PyMemoryError::new_err(message),
        (_, Some(number)) => PyOSError::new_err((number, message)),
        _ => PyOSError::new_err(message),
    }
}

/// The exception for what the system answered about a file.
pub(crate) fn of_system(error: &io::Error, what: &str, path: &Path) -> PyErr {
    of_file(&io::Error::new(error.kind(), format!("{what}: {}: {error}", path.display())))
}

/// The exception for a stream that failed.
pub(crate) fn of_stream(error: StreamError) -> PyErr {
    of_file(&error.into())
}

/// The exception for a stream whose other end is another process. One that ended, or closed its end, has an exception of its own:
/// `BrokenPipeError` where it was read there, `ConnectionResetError` where it was written.
pub(crate) fn of_process(failed: &StreamError) -> PyErr {
    match failed.kind() {
        StreamErrorKind::WriterGone => PyConnectionResetError::new_err((ECONNRESET, failed.to_string())),
        _ => of_stream(failed.clone()),
    }
}

/// The exception for a connection to another process, or a stream that cannot be opened on it.
pub(crate) fn of_connection(failed: &OpenError) -> PyErr {
    match failed {
        OpenError::Setting(_) => PyValueError::new_err(failed.to_string()),
        OpenError::Resources(_) => PyMemoryError::new_err(failed.to_string()),
        _ => PyConnectionError::new_err(failed.to_string()),
    }
}

/// The exception for a stream between hosts: an `OSError`, but for settings.
pub(crate) fn of_network(error: &NetError) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        NetErrorKind::Setting => PyValueError::new_err(message),
        NetErrorKind::Unreachable => PyConnectionError::new_err(message),
        NetErrorKind::Untrusted => PyPermissionError::new_err(message),
        NetErrorKind::Refused => PyConnectionRefusedError::new_err(message),
        NetErrorKind::Lost => PyConnectionResetError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}

/// The exception for a mapped file that lost bytes.
pub(crate) fn of_look(error: LookError, path: &Path) -> PyErr {
    PyOSError::new_err((EIO, format!("read: {}: {error}; results from its array mean nothing", path.display())))
}

/// The system's number of an error: its own, or that of its kind, where the library put a message around it.
fn errno(error: &io::Error) -> Option<i32> {
    let of_kind = match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::AlreadyExists => Some(17),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::StorageFull => Some(28),
        io::ErrorKind::BrokenPipe => Some(32),
        io::ErrorKind::TimedOut => Some(110),
        _ => None,
    };
    error.raw_os_error().or(of_kind)
}

pub(crate) fn type_error(message: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(message.to_string())
}

pub(crate) fn value_error(message: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

pub(crate) fn timeout(message: impl std::fmt::Display) -> PyErr {
    PyTimeoutError::new_err(message.to_string())
}

pub(crate) fn memory(message: impl std::fmt::Display) -> PyErr {
    PyMemoryError::new_err(message.to_string())
}
