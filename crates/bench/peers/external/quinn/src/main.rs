//! Carries words over loopback in one QUIC stream: one thread fills a buffer and writes it, another reads and adds up.
//!
//! `eagre-peer-quinn BYTES` prints the seconds from the first word to the last, and the sum. `--version` prints the version of quinn.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::PrivateKeyDer;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes written and read at a time.
const BUFFER: usize = 256 << 10;
/// What may be on its way.
const WINDOW: u32 = 16 << 20;
/// The largest datagram of loopback.
const DATAGRAM: u16 = 65_527;

fn word(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Wide windows and large datagrams.
fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(DATAGRAM);
    transport
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(WINDOW.into())
        .mtu_discovery_config(Some(discovery));
    Arc::new(transport)
}

fn endpoint_config() -> Result<EndpointConfig> {
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(DATAGRAM)?;
    Ok(config)
}

/// A runtime of this thread alone.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn socket() -> Result<std::net::UdpSocket> {
    Ok(std::net::UdpSocket::bind("127.0.0.1:0")?)
}

async fn read(socket: std::net::UdpSocket, config: ServerConfig) -> Result<u64> {
    let runtime = Arc::new(quinn::TokioRuntime);
    let endpoint = Endpoint::new(endpoint_config()?, Some(config), socket, runtime)?;
    let connection = endpoint.accept().await.ok_or("the endpoint is closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let mut buffer = vec![0; BUFFER];
    let (mut held, mut sum) = (0, 0_u64);
    while let Some(now) = stream.read(&mut buffer[held..]).await? {
        held += now;
        let whole = held / 8 * 8;
        for word in buffer[..whole].chunks_exact(8) {
            sum = sum.wrapping_add(u64::from_le_bytes(word.try_into()?));
        }
        buffer.copy_within(whole..held, 0);
        held -= whole;
    }
    // The last acknowledgement is on its way until the other side closes.
    connection.closed().await;
    Ok(sum)
}

async fn write(to: std::net::SocketAddr, config: ClientConfig, bytes: u64) -> Result<Duration> {
    let mut endpoint = Endpoint::new(endpoint_config()?, None, socket()?, Arc::new(quinn::TokioRuntime))?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(to, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    let mut buffer = vec![0; BUFFER];
    let start = Instant::now();
    let (mut written, words) = (0, bytes / 8);
    while written < words {
        let now = (words - written).min(BUFFER as u64 / 8);
        for (at, to) in buffer.chunks_exact_mut(8).take(now as usize).enumerate() {
            to.copy_from_slice(&word(written + at as u64).to_le_bytes());
        }
        stream.write_all(&buffer[..now as usize * 8]).await?;
        written += now;
    }
    stream.finish()?;
    // Until the other side has everything.
    stream.stopped().await?;
    let took = start.elapsed();
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(took)
}

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).ok_or("how many bytes?")?;
    if argument == "--version" {
        println!("quinn 0.11.12");
        return Ok(());
    }
    let bytes = argument.parse()?;
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "a provider is installed already")?;
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der())?;
    let chain = vec![certificate.cert.der().clone()];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(chain[0].clone())?;
    let server = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    let client = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?));
    server.transport_config(transport());
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client)?));
    client.transport_config(transport());
    let here = socket()?;
    let address = here.local_addr()?;
    let reader = std::thread::spawn(move || runtime()?.block_on(read(here, server)));
    let took = runtime()?.block_on(write(address, client, bytes))?;
    let sum = reader.join().map_err(|_| "the reader panicked")??;
    println!("{} {sum}", took.as_secs_f64());
    Ok(())
}
