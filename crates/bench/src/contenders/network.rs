//! Streams over TCP on loopback: sockets by hand, rustls by hand, and Eagre.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use eagre_net::{Connector, Listener, NetError, Options, Rdma, RdmaAlgorithm, RdmaProvider, Security};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};

use super::iperf::Iperf;
use super::link::{Host, Link};
use super::peer::Peer;
use super::rdma_bare::RdmaBare;
use super::stream::{fill_pointer, read_calls, read_pointer, write_calls};
use crate::catalogue::{Network, RdmaEnd};
use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{Tally, fill};
use crate::memory::{Pages, Region, bytes_of, bytes_of_mut};

/// What is written or read at once: the best of 64 KiB to 1 MiB.
const PIECE: usize = 256 << 10;
/// Memory that no cache holds.
const COLD: usize = 1 << 30;
const TOKEN: &[u8] = b"of the benchmark, and no secret";

pub(crate) fn network(network: Network) -> Result<Box<dyn Contender>, Trouble> {
    Ok(match network {
        Network::Sockets { checks, cold } => Box::new(ByHand::new(false, checks, if cold { COLD } else { PIECE })?),
        Network::Rustls => Box::new(ByHand::new(true, true, PIECE)?),
        Network::Eagre { tls, pointers } => {
            Box::new(Hosts::new(None, tls, if pointers { Ends::Pointers } else { Ends::Calls }, None)?)
        }
        Network::Rdma { provider, algorithm, end } => Box::new(registered(provider, algorithm, end)?),
        Network::RdmaBare { provider } => Box::new(RdmaBare::new(provider)?),
        Network::Linked { wire, tls } => Box::new(Hosts::new(Some(Link::new(wire)?), tls, Ends::Calls, None)?),
        Network::Iperf(wire) => Box::new(Iperf::new(wire)?),
        Network::Quinn => Box::new(Peer::new("quinn", &[])?),
    })
}

/// A stream of Eagre's, opened anew for each run, before the clock starts. Without a link, both ends are on this host.
struct Hosts {
    listener: Listener,
    connector: Connector,
    ends: Ends,
    link: Option<Link>,
}

/// What a stream's ends do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Fill and sum by explicit calls.
    Calls,
    /// Fill and sum on plain pointers.
    Pointers,
    /// Hand on blocks as they are.
    Untouched,
}

/// A stream whose blocks travel by RDMA.
fn registered(provider: RdmaProvider, algorithm: RdmaAlgorithm, end: RdmaEnd) -> Result<Hosts, Trouble> {
    let devices = eagre_fabric::Fabric::open().and_then(|fabric| fabric.devices());
    let devices = devices.map_err(|error| Trouble::Unavailable(error.to_string()))?;
    if !devices.iter().any(|device| device.provider == provider.name()) {
        return Err(Trouble::Unavailable(format!("libfabric has no provider {provider}")));
    }
    let checks = matches!(end, RdmaEnd::Calls | RdmaEnd::Pointers);
    let ends = match end {
        RdmaEnd::Untouched => Ends::Untouched,
        RdmaEnd::Unchecked | RdmaEnd::Calls => Ends::Calls,
        RdmaEnd::Pointers => Ends::Pointers,
    };
    Hosts::new(None, false, ends, Some(Rdma::new(provider).algorithm(algorithm).checks(checks)))
}

fn trouble(error: NetError) -> Trouble {
    Trouble::failed("network", error)
}

impl Hosts {
    fn new(link: Option<Link>, tls: bool, ends: Ends, rdma: Option<Rdma>) -> Result<Hosts, Trouble> {
        let security = match &link {
            _ if tls => Security::token(TOKEN).map_err(trouble)?,
            Some(_) => Security::insecure_plain(),
            None => Security::loopback(),
        };
        let options = Options::new().security(security);
        // As the page for users recommends where there are no pointers.
        let options = match ends {
            Ends::Pointers => options,
            // One block at a time is written, and read: fewer blocks go around through the caches.
            _ if rdma.is_some() => options.stream(eagre::Pipe::builder().explicit().rewrite(0).lookback(0)),
            Ends::Calls | Ends::Untouched => options.stream(eagre::Pipe::builder().explicit()),
        };
        let options = rdma.into_iter().fold(options, Options::rdma);
        let place = format!("{}:0", link.as_ref().map_or("127.0.0.1", |link| link.far.address));
        let far = link.as_ref().map(|link| &link.far);
        let listener = on(far, || Listener::bind(&place, options.clone()).map_err(trouble))?;
        let connector = Connector::new(&listener.local_address().to_string()).map_err(trouble)?.options(options);
        Ok(Hosts { listener, connector, ends, link })
    }
}

/// Does something on that host, or on this one.
fn on<R: Send>(host: Option<&Host>, work: impl FnOnce() -> Result<R, Trouble> + Send) -> Result<R, Trouble> {
    match host {
        Some(host) => host.run(work),
        None => work(),
    }
}

impl Contender for Hosts {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let near = self.link.as_ref().map(|link| &link.near);
        let (connector, listener) = (&self.connector, &self.listener);
        let (writer, reader) = std::thread::scope(|scope| {
            let writer = scope.spawn(move || on(near, || connector.writer("row").map_err(trouble)));
            // Each waits for the other.
            let reader = listener.reader("row").map_err(trouble);
            (writer.join(), reader)
        });
        let writer = writer.map_err(|_| Trouble::Failed("the connecting thread panicked".into()))?;
        let (mut writer, mut reader) = (writer?, reader?);
        let ends = self.ends;
        let (took, (), answer) = two_threads(
            move || {
                match ends {
                    Ends::Pointers => fill_pointer(&mut writer, size)?,
                    Ends::Calls => write_calls(&mut writer, size)?,
                    Ends::Untouched => hand_out(&mut writer, size)?,
                }
                writer.finish_at(size).map(drop).map_err(trouble)
            },
            move || {
                let answer = match ends {
                    Ends::Pointers => read_pointer(&mut reader, size),
                    Ends::Calls => read_calls(&mut reader),
                    Ends::Untouched => take_in(&mut reader),
                };
                reader.finish().map_err(trouble)?;
                answer
            },
        )?;
        match ends {
            Ends::Untouched if answer != size => Err(Trouble::Wrong(format!("{answer} bytes came of {size}"))),
            // Nobody looks at what is carried.
            Ends::Untouched => Ok(Measured { threads: 2, ..Measured::alone(took, size, 0, 0) }),
            _ => Ok(Measured::pipe(took, size, answer)),
        }
    }
}

/// Writes so many bytes as they are in the blocks.
fn hand_out(writer: &mut eagre::Writer, size: u64) -> Result<(), Trouble> {
    loop {
        let block = writer.take().map_err(|e| Trouble::failed("take", e))?;
        if block.offset() + writer.control().block_size().bytes() as u64 > size {
            writer.put_back(block);
            return Ok(());
        }
        writer.complete(block);
    }
}

/// Reads everything, and says how many bytes that were.
fn take_in(reader: &mut eagre::Reader) -> Result<u64, Trouble> {
    let mut bytes = 0;
    while let Some(block) = reader.take().map_err(|e| Trouble::failed("take", e))? {
        bytes += block.as_slice().len() as u64;
        reader.release_block(block);
    }
    Ok(bytes)
}

/// A buffer for each end.
struct ByHand {
    /// How much memory each end goes through, again and again.
    memory: usize,
    /// Source and target, once there has been a run.
    ends: Option<[Region; 2]>,
    tls: Option<Keys>,
    checks: bool,
}

impl ByHand {
    fn new(tls: bool, checks: bool, memory: usize) -> Result<ByHand, Trouble> {
        let tls = tls.then(keys).transpose().map_err(|e| Trouble::failed("rustls", e))?;
        Ok(ByHand { memory, ends: None, tls, checks })
    }

    /// The memory of both ends: no more than the stream has bytes.
    fn ends(&mut self, size: u64) -> Result<&mut [Region; 2], Trouble> {
        let memory = self.memory.min((size as usize).next_multiple_of(PIECE));
        if self.ends.as_ref().is_none_or(|[one, _]| one.len() < memory) {
            let end = || Region::touched(memory, Pages::Huge).map_err(|e| Trouble::failed("memory", e));
            self.ends = Some([end()?, end()?]);
        }
        self.ends.as_mut().ok_or_else(|| Trouble::Failed("memory".into()))
    }
}

impl Contender for ByHand {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| Trouble::failed("listen", e))?;
        let address = listener.local_addr().map_err(|e| Trouble::failed("listen", e))?;
        let near = TcpStream::connect(address).map_err(|e| Trouble::failed("connect", e))?;
        let (far, _) = listener.accept().map_err(|e| Trouble::failed("accept", e))?;
        let (keys, checks) = (self.tls.clone(), self.checks);
        let [source, target] = self.ends(size)?;
        let (source, target) = (source.words_mut(), target.words_mut());
        let Some(keys) = keys else {
            let (mut sent, mut got) = (Checks::none_unless(checks), Checks::none_unless(checks));
            let (took, (), answer) = two_threads(
                || write(near, source, size, |bytes| sent.add(bytes)).map_err(|e| Trouble::failed("write", e)),
                || read(far, target, |bytes| got.add(bytes)).map_err(|e| Trouble::failed("read", e))?.answer(),
            )?;
            same(&sent, &got)?;
            return Ok(Measured::pipe(took, size, answer));
        };
        let client = rustls::ClientConnection::new(keys.client.clone(), "eagre".try_into().expect("a name"));
        let client = client.map_err(|e| Trouble::failed("rustls", e))?;
        let server = rustls::ServerConnection::new(keys.server.clone()).map_err(|e| Trouble::failed("rustls", e))?;
        let (mut sent, mut got) = (Checks::default(), Checks::default());
        let (took, (), answer) = two_threads(
            || {
                let mut stream = rustls::StreamOwned::new(client, near);
                write(&mut stream, source, size, |bytes| sent.add(bytes)).map_err(|e| Trouble::failed("write", e))?;
                stream.conn.send_close_notify();
                stream.flush().map_err(|e| Trouble::failed("close", e))
            },
            || {
                let stream = rustls::StreamOwned::new(server, far);
                read(stream, target, |bytes| got.add(bytes)).map_err(|e| Trouble::failed("read", e))?.answer()
            },
        )?;
        same(&sent, &got)?;
        Ok(Measured::pipe(took, size, answer))
    }
}

/// What Eagre computes of the bytes that it carries.
struct Checks {
    on: bool,
    pieces: u64,
    digest: blake3::Hasher,
}

impl Default for Checks {
    fn default() -> Checks {
        Checks::none_unless(true)
    }
}

fn same(sent: &Checks, got: &Checks) -> Result<(), Trouble> {
    match sent.digest.finalize() == got.digest.finalize() {
        true => Ok(()),
        false => Err(Trouble::Wrong("the two digests differ".into())),
    }
}

impl Checks {
    fn none_unless(on: bool) -> Checks {
        Checks { on, pieces: 0, digest: blake3::Hasher::new() }
    }

    fn add(&mut self, bytes: &[u8]) {
        if !self.on {
            return;
        }
        self.pieces ^= xxhash_rust::xxh3::xxh3_64(bytes);
        self.digest.update(bytes);
    }
}

/// Fills a piece of the memory and writes it, and the next one, around and around.
fn write(mut to: impl Write, memory: &mut [u64], size: u64, mut check: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut written, words) = (0, size / 8);
    for at in (0..memory.len()).step_by(PIECE / 8).cycle() {
        let now = (words - written).min(PIECE as u64 / 8) as usize;
        if now == 0 {
            break;
        }
        let piece = &mut memory[at..at + now];
        fill(piece, written);
        check(bytes_of(piece));
        to.write_all(bytes_of(piece))?;
        written += now as u64;
    }
    to.flush()
}

/// Reads a piece of the memory full and adds it up, and the next one, around and around.
fn read(mut from: impl Read, memory: &mut [u64], mut check: impl FnMut(&[u8])) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let (mut at, length) = (0, memory.len());
    loop {
        let piece = &mut memory[at..at + PIECE / 8];
        let bytes = bytes_of_mut(piece);
        let mut held = 0;
        while held < bytes.len() {
            match from.read(&mut bytes[held..])? {
                0 => break,
                got => held += got,
            }
        }
        check(&bytes[..held]);
        let whole = held == bytes.len();
        tally.add(&piece[..held / 8]);
        if !whole {
            return Ok(tally);
        }
        at = (at + PIECE / 8) % length;
    }
}

/// Both sides of TLS, with the version, the cipher suites and the kind of key that Eagre uses.
#[derive(Clone)]
struct Keys {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

fn keys() -> Result<Keys, rustls::Error> {
    /// An Ed25519 key in PKCS #8: this and its seed.
    const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from([&PKCS8[..], &[7; 32]].concat()));
    let key = rustls::crypto::ring::sign::any_supported_type(&der)?;
    let public = key.public_key().map(|public| CertificateDer::from(public.to_vec()));
    let key = Arc::new(CertifiedKey::new(public.into_iter().collect(), key));
    let version = &[&rustls::version::TLS13];
    let client = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(version)?;
    let trusts = Arc::new(TrustsAll(provider.signature_verification_algorithms));
    let client = client.dangerous().with_custom_certificate_verifier(trusts).with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(version)?;
    let resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
    let mut server = server.with_no_client_auth().with_cert_resolver(resolver);
    // A client that never reads would reset the connection when it closes it.
    server.send_tls13_tickets = 0;
    Ok(Keys { client: Arc::new(client), server: Arc::new(server) })
}

/// Trusts every key. This is a benchmark.
#[derive(Debug)]
struct TrustsAll(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for TrustsAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 only".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature_with_raw_key(message, &SubjectPublicKeyInfoDer::from(key.as_ref()), signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
