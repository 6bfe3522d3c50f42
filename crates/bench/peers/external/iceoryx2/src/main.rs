//! Carries words between two processes with iceoryx2: a publisher loans blocks of shared memory and fills them, a subscriber adds them up.
//!
//! `eagre-peer-iceoryx2 BYTES BLOCK` prints the seconds from the first word to the last, and the sum. `--version` prints the version of
//! iceoryx2. The loops are those of the benchmark.

// The loops are the benchmark's own; not all of them are used here.
#[allow(dead_code, unused_imports)]
#[path = "../../../../src/kernels/mod.rs"]
mod kernels;
#[allow(dead_code)]
#[path = "../../../../src/trouble.rs"]
mod trouble;

use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use std::error::Error;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Blocks that are on their way, loaned or looked at: as many as a stream with default windows has.
const BLOCKS: usize = 5;

/// One publisher and one subscriber, and no block is ever lost.
macro_rules! service {
    ($node:expr, $name:expr) => {
        $node
            .service_builder(&$name.try_into()?)
            .publish_subscribe::<[u64]>()
            .max_publishers(1)
            .max_subscribers(1)
            .enable_safe_overflow(false)
            .history_size(0)
            .subscriber_max_buffer_size(BLOCKS - 2)
            .subscriber_max_borrowed_samples(1)
            .open_or_create()?
    };
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    set_log_level(LogLevel::Error);
    match &arguments[..] {
        [version] if version == "--version" => println!("iceoryx2 0.10.0"),
        [bytes, block] => read(bytes.parse()?, block)?,
        [bytes, block, name] => write(bytes.parse()?, block.parse()?, name)?,
        _ => return Err("how many bytes, in blocks of how many?".into()),
    }
    Ok(())
}

/// Ended, if this process fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read(bytes: u64, block: &str) -> Result<()> {
    let name = format!("eagre-bench-{}", std::process::id());
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = service!(node, name.as_str());
    let subscriber = service.subscriber_builder().create()?;
    let mut writer = Command::new(std::env::current_exe()?);
    writer.args([&bytes.to_string(), block, &name]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut writer = Ended(writer.spawn()?);
    let (mut to, mut from) = (writer.0.stdin.take().ok_or("no pipe")?, writer.0.stdout.take().ok_or("no pipe")?);
    from.read_exact(&mut [0])?;
    let start = Instant::now();
    to.write_all(b"g")?;
    let (mut tally, mut left, mut looks) = (kernels::Tally::default(), bytes / 8, 0_u64);
    while left > 0 {
        match subscriber.receive()? {
            Some(sample) => {
                left -= sample.payload().len() as u64;
                tally.add(sample.payload());
            }
            None => {
                looks += 1;
                if looks.is_multiple_of(1 << 20) && writer.0.try_wait()?.is_some() {
                    return Err("the other process has ended early".into());
                }
                std::hint::spin_loop();
            }
        }
    }
    let took = start.elapsed();
    drop(to);
    if !writer.0.wait()?.success() {
        return Err("the other process has failed".into());
    }
    println!("{} {}", took.as_secs_f64(), tally.answer().map_err(|trouble| format!("{trouble:?}"))?);
    Ok(())
}

fn write(bytes: u64, block: usize, name: &str) -> Result<()> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = service!(node, name);
    let publisher = service
        .publisher_builder()
        .initial_max_slice_len(block / 8)
        .max_loaned_samples(1)
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .create()?;
    // The other side's mapping is known before the clock starts.
    publisher.update_connections()?;
    std::io::stdout().write_all(b"r")?;
    std::io::stdout().flush()?;
    std::io::stdin().read_exact(&mut [0])?;
    // The blocks stay until the other side has seen them. If it is gone, nobody takes them, and a publisher waits for ever.
    static DONE: AtomicBool = AtomicBool::new(false);
    let other = std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        if !DONE.load(SeqCst) {
            std::process::exit(1);
        }
    });
    let (mut written, words) = (0, bytes / 8);
    while written < words {
        let now = (words - written).min(block as u64 / 8);
        let mut sample = publisher.loan_slice_uninit(now as usize)?;
        let room = sample.payload_mut();
        // SAFETY: words of the block, which the kernel only writes.
        kernels::fill(unsafe { &mut *(std::ptr::from_mut(room) as *mut [u64]) }, written);
        // SAFETY: just filled.
        if unsafe { sample.assume_init() }.send()? != 1 {
            return Err("there is no subscriber".into());
        }
        written += now;
    }
    DONE.store(true, SeqCst);
    other.join().map_err(|_| "the thread panicked")?;
    Ok(())
}
