//! Streams between processes.
//!
//! Both ends use explicit calls, as those of a pipe do. A wait for the other process to make its stream runs in a thread of its own
//! (`watch`), which a signal leaves behind: it ends by itself.

use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eagre::OpenError;
use eagre::process::{self, Listener, Options};
use pyo3::prelude::*;

use crate::arguments::{block_size, seconds};
use crate::error;
use crate::listening::Listening;
use crate::reading::Stream;
use crate::watch::leaving;
use crate::writing::Sink;

/// What Python says of a stream that it makes.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    name: Option<String>,
    #[pyo3(item)]
    block: usize,
    #[pyo3(item)]
    rewrite: u32,
    #[pyo3(item)]
    lookback: u32,
    #[pyo3(item)]
    read_ahead: u32,
    #[pyo3(item)]
    capacity: Option<u64>,
    #[pyo3(item)]
    timeout: Option<f64>,
}

impl Settings {
    fn options(&self) -> PyResult<Options> {
        let block = block_size(self.block, "eagre.process")?;
        let options =
            Options::new().block_size(block).rewrite(self.rewrite).lookback(self.lookback).read_ahead(self.read_ahead);
        let options = self.name.iter().fold(options, |options, name| options.name(name));
        let options = self.capacity.into_iter().fold(options, Options::capacity);
        let timeout = self.timeout.map(|timeout| seconds(timeout, "eagre.process", "timeout")).transpose()?;
        Ok(timeout.into_iter().fold(options, Options::timeout))
    }
}

/// One side of a connection, until a stream is opened on it.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Connection(Mutex<Option<process::Connection>>);

impl Connection {
    fn of(connection: process::Connection) -> Connection {
        Connection(Mutex::new(Some(connection)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<process::Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<process::Connection> {
        self.lock().take().ok_or_else(used)
    }

    /// Joins the stream that the other process makes. A signal ends the connection, and so the wait.
    fn join<T: Send + 'static>(
        &self,
        py: Python<'_>,
        join: impl FnOnce(process::Connection) -> Result<T, OpenError> + Send + 'static,
    ) -> PyResult<T> {
        let connection = self.take()?;
        let copy = connection.as_fd().try_clone_to_owned().map_err(|failed| error::of_file(&failed))?;
        let socket = UnixStream::from(copy);
        let stop = || {
            // A descriptor that is no socket does not wait.
            let _ = socket.shutdown(Shutdown::Both);
        };
        leaving(py, &stop, move || join(connection))?.map_err(|failed| error::of_connection(&failed))
    }
}

fn used() -> PyErr {
    error::value_error("eagre.process.Connection: it is closed, or a stream has been opened on it")
}

/// Whether this process has such a descriptor.
fn is_open(number: i32) -> bool {
    // SAFETY: not -1; the call finds out whether it is open, and owns only what it makes.
    number >= 0 && unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().is_ok()
}

#[pymethods]
impl Connection {
    /// The connection of a descriptor, which belongs to it from here on.
    #[new]
    fn new(number: i32) -> PyResult<Connection> {
        if number <= 2 || !is_open(number) {
            return Err(error::value_error(format_args!(
                "eagre.process.Connection: {number} is no open descriptor; for standard input use Connection.from_stdin()"
            )));
        }
        // SAFETY: open, and whoever calls this gives it away, as with `socket.socket(fileno=number)`.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        Ok(Connection::of(fd.into()))
    }

    #[staticmethod]
    fn pair() -> PyResult<(Connection, Connection)> {
        let (ours, theirs) = process::Connection::pair().map_err(|failed| error::of_connection(&failed))?;
        Ok((Connection::of(ours), Connection::of(theirs)))
    }

    #[staticmethod]
    fn connect(py: Python<'_>, name: String) -> PyResult<Connection> {
        let connected = leaving(py, &|| {}, move || process::Connection::connect(&name))?;
        connected.map(Connection::of).map_err(|failed| error::of_connection(&failed))
    }

    #[staticmethod]
    fn from_stdin() -> PyResult<Connection> {
        process::Connection::from_stdin().map(Connection::of).map_err(|failed| error::of_connection(&failed))
    }

    fn fileno(&self) -> PyResult<i32> {
        self.lock().as_ref().map(|connection| connection.as_fd().as_raw_fd()).ok_or_else(used)
    }

    fn detach(&self) -> PyResult<i32> {
        Ok(OwnedFd::from(self.take()?).into_raw_fd())
    }

    fn close(&self) {
        drop(self.lock().take());
    }

    fn make_writer(&self, py: Python<'_>, settings: Settings) -> PyResult<Sink> {
        let (options, connection) = (settings.options()?, self.take()?);
        let made = py.detach(|| options.writer(connection));
        made.map(Sink::between_processes).map_err(|failed| error::of_connection(&failed))
    }

    fn make_reader(&self, py: Python<'_>, settings: Settings) -> PyResult<Stream> {
        let (options, connection) = (settings.options()?, self.take()?);
        let made = py.detach(|| options.reader(connection));
        made.map(Stream::between_processes).map_err(|failed| error::of_connection(&failed))
    }

    fn join_writer(&self, py: Python<'_>) -> PyResult<Sink> {
        self.join(py, process::Writer::join).map(Sink::between_processes)
    }

    fn join_reader(&self, py: Python<'_>) -> PyResult<Stream> {
        self.join(py, process::Reader::join).map(Stream::between_processes)
    }
}

/// A name at which other processes connect.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct ProcessListener(Listening<Listener>);

#[pymethods]
impl ProcessListener {
    #[new]
    fn new(py: Python<'_>, name: String) -> PyResult<ProcessListener> {
        let bound = py.detach(|| Listener::bind(&name));
        let listener = bound.map_err(|failed| match failed {
            // Nobody was to answer.
            OpenError::Unavailable(_) => error::of_file(&failed.into()),
            other => error::of_connection(&other),
        })?;
        Ok(ProcessListener(Listening::new(listener, "eagre.process.Listener")))
    }

    /// Waits for the next process that connects.
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Connection> {
        let late = "eagre.process.Listener: no other process has connected within the timeout";
        let accepted = self.0.wait(py, timeout, late, |listener, limit| {
            listener.accept_within(limit).map_err(|failed| error::of_connection(&failed))
        });
        accepted.map(Connection::of)
    }

    /// Listens no more. Who waits in another thread gets an error.
    fn close(&self, py: Python<'_>) {
        self.0.close(py);
    }
}
