//! One plain pointer to data larger than memory: the C library's `memset` writes it, its `strstr` reads it.
//!
//! `cargo run --release --example flow [GiB]` (default 16). Neither function knows of streams, blocks or threads.

use std::ffi::CStr;
use std::process::ExitCode;
use std::time::Instant;

const NEEDLE: &CStr = c"the tide turns";

type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flow: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Error> {
    let gib: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(|_| format!("{text}: not a number of GiB"))?,
        None => 16,
    };
    let length = usize::try_from(gib << 30)?;
    let (mut writer, mut reader) = eagre::Pipe::builder().length(length as u64).open()?.split();
    let control = writer.control();
    let start = Instant::now();

    let producer = std::thread::spawn(move || {
        writer.scope(|to| {
            let needle = NEEDLE.to_bytes();
            // SAFETY: ascending writes within the stream's length.
            unsafe {
                libc::memset(to.cast(), i32::from(b'~'), length - needle.len());
                to.add(length - needle.len()).copy_from_nonoverlapping(needle.as_ptr(), needle.len());
            }
        })?;
        writer.finish_at(length as u64)
    });
    let found = reader.scope(|from| {
        // SAFETY: one forward scan; a zero byte follows the stream.
        let found = unsafe { libc::strstr(from.cast(), NEEDLE.as_ptr()) };
        (!found.is_null()).then(|| found.addr() - from.addr())
    })?;
    producer.join().map_err(|_| "the producer panicked")??;

    let seconds = start.elapsed().as_secs_f64();
    let (trap, mover, most) = (control.trap(), control.mover(), control.stats().most);
    println!("{gib} GiB through {most} blocks of {}, {trap} + {mover}", control.block_size());
    println!(
        "strstr found the needle at {found:?} of {length} in {seconds:.2} s, {:.1} GB/s",
        length as f64 / seconds / 1e9
    );
    println!("peak memory of the process: {} MiB", peak_memory()? >> 20);
    assert_eq!(found, Some(length - NEEDLE.to_bytes().len()));
    Ok(())
}

fn peak_memory() -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).ok_or("no VmHWM in /proc/self/status")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib << 10)
}
