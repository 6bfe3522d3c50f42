//! Streams between hosts.
//!
//! Both ends use explicit calls, as those of a pipe do; or a stream of this process is attached, and a thread of the library carries it. A call that another host takes part in runs in a thread of its own (`watch`),
//! which a signal leaves behind: it ends by itself.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use eagre::{Control, Pipe};
use eagre_net::security::load_token;
use eagre_net::{Cancel, Fingerprint, Identity, NetError, Offer, Options, Rdma, Security};
use pyo3::prelude::*;

use crate::arguments::{block_size, seconds};
use crate::error;
use crate::listening::Listening;
use crate::reading::{KEPT, Stream};
use crate::watch::leaving;
use crate::writing::Sink;

/// What Python says of streams between hosts.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    token: Option<Vec<u8>>,
    #[pyo3(item)]
    token_file: Option<PathBuf>,
    #[pyo3(item)]
    identity: Option<PathBuf>,
    #[pyo3(item)]
    peers: Vec<String>,
    #[pyo3(item)]
    insecure_plain: bool,
    #[pyo3(item)]
    retry: f64,
    #[pyo3(item)]
    silence: f64,
    #[pyo3(item)]
    window: Option<usize>,
    #[pyo3(item)]
    block: usize,
    #[pyo3(item)]
    limit: Option<u64>,
    #[pyo3(item)]
    rdma: Option<String>,
}

impl Settings {
    fn options(&self, function: &str) -> PyResult<Options> {
        let options = Options::new()
            .stream(Pipe::builder().lookback(KEPT).explicit())
            .block_size(block_size(self.block, function)?)
            .retry(seconds(self.retry, function, "retry")?)
            .silence(seconds(self.silence, function, "silence")?)
            .security(self.security().map_err(|failed| error::of_network(&failed))?);
        let wrong = |why: String| error::value_error(format_args!("{function}: rdma: {why}"));
        let rdma = self.rdma.as_deref().map(|text| text.parse::<Rdma>().map_err(wrong)).transpose()?;
        let options = self.window.into_iter().fold(options, Options::window);
        let options = rdma.into_iter().fold(options, Options::rdma);
        Ok(self.limit.into_iter().fold(options, Options::limit))
    }

    /// At most one of them is given.
    fn security(&self) -> Result<Security, NetError> {
        if let Some(token) = &self.token {
            return Security::token(token);
        }
        if let Some(file) = &self.token_file {
            return Security::token(&load_token(file)?);
        }
        if let Some(identity) = &self.identity {
            let peers = self.peers.iter().map(|peer| peer.parse()).collect::<Result<Vec<Fingerprint>, _>>()?;
            return Security::keys(&Identity::load(identity)?, &peers);
        }
        Ok(if self.insecure_plain { Security::insecure_plain() } else { Security::loopback() })
    }
}

/// The side that calls.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Connector {
    connector: eagre_net::Connector,
    options: Options,
}

impl Connector {
    /// Runs a call that opens a stream, which a signal cancels.
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        length: Option<u64>,
        open: impl FnOnce(eagre_net::Connector) -> Result<T, NetError> + Send + 'static,
    ) -> PyResult<T> {
        let cancel = Cancel::new();
        let options = length.into_iter().fold(self.options.clone().cancel(&cancel), Options::length);
        let connector = self.connector.clone().options(options);
        leaving(py, &|| cancel.cancel(), move || open(connector))?.map_err(|failed| error::of_network(&failed))
    }
}

#[pymethods]
impl Connector {
    #[new]
    fn new(address: &str, settings: Settings) -> PyResult<Connector> {
        let connector = eagre_net::Connector::new(address);
        // One that cannot be read is no trouble of a network.
        let connector = connector.map_err(|failed| error::value_error(format_args!("eagre.Connector: {failed}")))?;
        Ok(Connector { connector, options: settings.options("eagre.Connector")? })
    }

    /// Opens a stream that is read there.
    fn writer(&self, py: Python<'_>, name: String, length: Option<u64>) -> PyResult<Sink> {
        self.call(py, length, move |connector| connector.writer(&name)).map(Sink::between_hosts)
    }

    /// Opens a stream that is written there.
    fn reader(&self, py: Python<'_>, name: String) -> PyResult<Stream> {
        self.call(py, None, move |connector| connector.reader(&name)).map(Stream::between_hosts)
    }

    /// Sends what a stream carries, from its beginning.
    fn send_from(&self, py: Python<'_>, name: String, stream: &Stream) -> PyResult<Transfer> {
        let reader = stream.take().ok_or_else(|| unattachable("reader"))?;
        let control = reader.control();
        let transfer = self.call(py, None, move |connector| connector.send_from(&name, reader));
        transfer.map(|transfer| Transfer::new(transfer, control))
    }

    /// Receives what a stream shall carry, from its beginning.
    fn receive_into(&self, py: Python<'_>, name: String, sink: &Sink) -> PyResult<Transfer> {
        let writer = sink.take().ok_or_else(|| unattachable("writer"))?;
        let control = writer.control();
        let transfer = self.call(py, None, move |connector| connector.receive_into(&name, writer));
        transfer.map(|transfer| Transfer::new(transfer, control))
    }
}

/// The side that is called.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Listener {
    listener: Listening<eagre_net::Listener>,
    address: String,
}

impl Listener {
    fn wait(&self, py: Python<'_>, name: &str, peer_writes: bool, timeout: Option<f64>) -> PyResult<Offer> {
        let what = if peer_writes { "write" } else { "read" };
        let late = format!("{name} at {}: nobody called to {what} it within the timeout", self.address);
        self.listener.wait(py, timeout, &late, |listener, limit| {
            listener.offer_within(name, peer_writes, limit).map_err(|failed| error::of_network(&failed))
        })
    }
}

#[pymethods]
impl Listener {
    #[new]
    fn new(py: Python<'_>, address: String, settings: Settings) -> PyResult<Listener> {
        let options = settings.options("eagre.Listener")?;
        let bound = leaving(py, &|| {}, move || eagre_net::Listener::bind(&address, options))?;
        let listener = bound.map_err(|failed| error::of_network(&failed))?;
        let address = listener.local_address().to_string();
        Ok(Listener { listener: Listening::new(listener, "eagre.Listener"), address })
    }

    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// Waits for a caller that reads a stream.
    fn writer(&self, py: Python<'_>, name: String, timeout: Option<f64>) -> PyResult<Sink> {
        let offer = self.wait(py, &name, false, timeout)?;
        py.detach(|| offer.writer()).map(Sink::between_hosts).map_err(|failed| error::of_network(&failed))
    }

    /// Waits for a caller that writes a stream.
    fn reader(&self, py: Python<'_>, name: String, timeout: Option<f64>) -> PyResult<Stream> {
        let offer = self.wait(py, &name, true, timeout)?;
        py.detach(|| offer.reader()).map(Stream::between_hosts).map_err(|failed| error::of_network(&failed))
    }

    /// Waits for a caller of a stream that nobody waits for by name.
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Offered> {
        let late = format!("{}: nobody called within the timeout", self.address);
        let offer = self.listener.wait(py, timeout, &late, |listener, limit| {
            listener.accept_within(limit).map_err(|failed| error::of_network(&failed))
        })?;
        Ok(Offered::new(offer))
    }

    /// Waits for a caller that reads a stream.
    fn offer(&self, py: Python<'_>, name: String, peer_writes: bool, timeout: Option<f64>) -> PyResult<Offered> {
        self.wait(py, &name, peer_writes, timeout).map(Offered::new)
    }

    /// Listens no more. Who waits in another thread gets an error.
    fn close(&self, py: Python<'_>) {
        self.listener.close(py);
    }
}

/// A stream that a caller wants, until it is opened or refused.
#[pyclass(frozen, module = "eagre._eagre", name = "Offer")]
pub(crate) struct Offered {
    offer: Mutex<Option<Offer>>,
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    peer: String,
    #[pyo3(get)]
    peer_writes: bool,
}

impl Offered {
    fn new(offer: Offer) -> Offered {
        let (name, peer, peer_writes) = (offer.name().to_owned(), offer.peer().to_string(), offer.peer_writes());
        Offered { offer: Mutex::new(Some(offer)), name, peer, peer_writes }
    }

    fn take(&self) -> PyResult<Offer> {
        self.take_with(|| Ok(())).map(|(offer, ())| offer)
    }

    /// The offer and the end of a stream. If one of them cannot be had, the other stays.
    fn take_with<E>(&self, end: impl FnOnce() -> PyResult<E>) -> PyResult<(Offer, E)> {
        let mut offer = self.offer.lock().unwrap_or_else(PoisonError::into_inner);
        let used = || error::value_error("eagre.Offer: it was opened or refused already; an offer is used once");
        let end = if offer.is_some() { end()? } else { return Err(used()) };
        offer.take().map(|offer| (offer, end)).ok_or_else(used)
    }
}

#[pymethods]
impl Offered {
    fn writer(&self, py: Python<'_>) -> PyResult<Sink> {
        let offer = self.take()?;
        py.detach(|| offer.writer()).map(Sink::between_hosts).map_err(|failed| error::of_network(&failed))
    }

    fn reader(&self, py: Python<'_>) -> PyResult<Stream> {
        let offer = self.take()?;
        py.detach(|| offer.reader()).map(Stream::between_hosts).map_err(|failed| error::of_network(&failed))
    }

    fn send_from(&self, py: Python<'_>, stream: &Stream) -> PyResult<Transfer> {
        let (offer, reader) = self.take_with(|| stream.take().ok_or_else(|| unattachable("reader")))?;
        let control = reader.control();
        let transfer = py.detach(|| offer.send_from(reader)).map_err(|failed| error::of_network(&failed))?;
        Ok(Transfer::new(transfer, control))
    }

    fn receive_into(&self, py: Python<'_>, sink: &Sink) -> PyResult<Transfer> {
        let (offer, writer) = self.take_with(|| sink.take().ok_or_else(|| unattachable("writer")))?;
        let control = writer.control();
        let transfer = py.detach(|| offer.receive_into(writer)).map_err(|failed| error::of_network(&failed))?;
        Ok(Transfer::new(transfer, control))
    }

    /// The caller is told why, and does not try again.
    fn refuse(&self, py: Python<'_>, why: &str) -> PyResult<()> {
        let offer = self.take()?;
        py.detach(|| offer.refuse(why));
        Ok(())
    }
}

/// The thread that carries a stream.
#[pyclass(frozen, module = "eagre._eagre")]
pub(crate) struct Transfer {
    transfer: Mutex<Option<eagre_net::Transfer>>,
    control: Control,
}

impl Transfer {
    fn new(transfer: eagre_net::Transfer, control: Control) -> Transfer {
        Transfer { transfer: Mutex::new(Some(transfer)), control }
    }
}

#[pymethods]
impl Transfer {
    /// Waits until both sides have everything: the length of the stream, its digest, and how often another connection took over.
    fn join(&self, py: Python<'_>) -> PyResult<(u64, [u8; 32], u32)> {
        let transfer = self.transfer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let transfer = transfer.ok_or_else(|| error::value_error("eagre.Transfer: somebody has joined it already"))?;
        let joined = leaving(py, &|| self.control.cancel(), || transfer.join())?;
        let summary = joined.map_err(|failed| error::of_network(&failed))?;
        Ok((summary.bytes, summary.digest, summary.reconnections))
    }
}

fn unattachable(end: &str) -> PyErr {
    error::value_error(format_args!(
        "the {end} is closed, or not that of a pipe (to send, a file will do); give one that is open and unused"
    ))
}
