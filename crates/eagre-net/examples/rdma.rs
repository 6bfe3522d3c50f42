//! How fast blocks travel by RDMA between two hosts: what a card of yours reaches. Every word is written and compared.
//!
//! ```sh
//! rdma receive ADDRESS:PORT PROVIDER ALGORITHM BYTES    # on the one host: an address of its card
//! rdma send    ADDRESS:PORT PROVIDER ALGORITHM BYTES    # on the other host
//! ```
//! The providers are tcp, verbs and shm, the algorithms pool, each-block, pipelined-copy and copy. `EAGRE_RDMA_CHECKS=1` adds Eagre's
//! own checks to those of the card; with `EAGRE_RDMA_POINTERS=1` both sides use plain pointers, and with `EAGRE_RDMA_UNTOUCHED=1` they
//! hand blocks on as they are: what the card alone can do. Nobody has to prove who they are: use it in a network that you trust.

use std::error::Error;
use std::time::Instant;

use eagre_net::{Connector, Listener, Options, Rdma, Security, Summary};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["receive", address, provider, algorithm, bytes] => {
            receive(address, options(provider, algorithm)?, bytes.parse()?)
        }
        ["send", address, provider, algorithm, bytes] => send(address, options(provider, algorithm)?, bytes.parse()?),
        _ => Err("usage: rdma receive|send ADDRESS:PORT PROVIDER ALGORITHM BYTES".into()),
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "1")
}

fn pointers() -> bool {
    is_set("EAGRE_RDMA_POINTERS")
}

fn untouched() -> bool {
    is_set("EAGRE_RDMA_UNTOUCHED")
}

fn options(provider: &str, algorithm: &str) -> Result<Options, Box<dyn Error>> {
    let rdma = Rdma::new(provider.parse()?).algorithm(algorithm.parse()?).checks(is_set("EAGRE_RDMA_CHECKS"));
    let stream = eagre::Pipe::builder();
    let stream = if pointers() { stream } else { stream.explicit() };
    Ok(Options::new().security(Security::insecure_plain()).stream(stream).rdma(rdma))
}

/// Word `number` of the stream.
fn word(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn send(address: &str, options: Options, bytes: u64) -> Result<(), Box<dyn Error>> {
    let mut writer = Connector::new(address)?.options(options).writer("rdma")?;
    let (began, mut done) = (Instant::now(), 0);
    if untouched() {
        while done < bytes / 8 {
            let block = writer.take()?;
            done += writer.control().block_size().bytes() as u64 / 8;
            writer.complete(block);
        }
        report("sent", &writer.finish()?, began);
        return Ok(());
    }
    if pointers() {
        let write = |start: *mut u8| {
            // SAFETY: words of the stream, in ascending order.
            (0..bytes / 8).for_each(|number| unsafe { start.cast::<u64>().add(number as usize).write(word(number)) });
        };
        writer.scope(write)?;
        report("sent", &writer.finish_at(bytes / 8 * 8)?, began);
        return Ok(());
    }
    while done < bytes / 8 {
        let room = writer.reserve(8)?;
        let count = (room.len() as u64 / 8).min(bytes / 8 - done);
        for (place, number) in room.chunks_exact_mut(8).zip(done..done + count) {
            place.copy_from_slice(&word(number).to_le_bytes());
        }
        writer.commit(count as usize * 8);
        done += count;
    }
    report("sent", &writer.finish()?, began);
    Ok(())
}

fn receive(address: &str, options: Options, bytes: u64) -> Result<(), Box<dyn Error>> {
    let listener = Listener::bind(address, options)?;
    println!("listens at {}", listener.local_address());
    let mut reader = listener.reader("rdma")?;
    let (began, mut done) = (Instant::now(), 0);
    if untouched() {
        while let Some(block) = reader.take()? {
            reader.release_block(block);
        }
        report("received", &reader.finish()?, began);
        return Ok(());
    }
    if pointers() {
        let wrong = reader.scope(|start| {
            // SAFETY: words of the stream, in ascending order.
            (0..bytes / 8).find(|&number| unsafe { start.cast::<u64>().add(number as usize).read() } != word(number))
        })?;
        if let Some(number) = wrong {
            return Err(format!("word {number} is wrong").into());
        }
        report("received", &reader.finish()?, began);
        return Ok(());
    }
    loop {
        let bytes = reader.fill(8)?;
        if bytes.is_empty() {
            break;
        }
        let count = bytes.len() as u64 / 8;
        let wrong = bytes.chunks_exact(8).zip(done..).find(|(bytes, number)| **bytes != word(*number).to_le_bytes());
        if let Some((_, number)) = wrong {
            return Err(format!("word {number} is wrong").into());
        }
        reader.consume(count as usize * 8);
        done += count;
    }
    if done != bytes / 8 {
        return Err(format!("{done} words came of {}", bytes / 8).into());
    }
    report("received", &reader.finish()?, began);
    Ok(())
}

fn report(what: &str, summary: &Summary, began: Instant) {
    let gigabytes = summary.bytes as f64 / 1e9;
    let costs = summary.rdma.unwrap_or_default();
    println!(
        "{what} {gigabytes:.3} GB at {:.2} GB/s; {} registrations, {:.3} GB copied, {} reconnections",
        gigabytes / began.elapsed().as_secs_f64(),
        costs.registrations,
        costs.copied as f64 / 1e9,
        summary.reconnections
    );
}
