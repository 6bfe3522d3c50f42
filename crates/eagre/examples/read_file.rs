//! Sums a file of native u64s at the speed of the disk, in a few MiB: `cargo run --release --example read_file FILE`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: read_file FILE");
        return ExitCode::from(2);
    };
    match sum(path.as_ref()) {
        Ok((sum, bytes)) => {
            println!("{sum} (of {bytes} bytes)");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("read_file: {error}");
            ExitCode::from(2)
        }
    }
}

fn sum(path: &std::path::Path) -> std::io::Result<(u64, u64)> {
    let mut reader = eagre::file::open(path)?;
    let mut sum = 0u64;
    loop {
        // All that is there, in one slice: whole numbers, but for a rest at the end of the file.
        let bytes = reader.fill(8)?;
        if bytes.is_empty() {
            return Ok((sum, reader.position()));
        }
        let (numbers, _) = bytes.as_chunks();
        sum = numbers.iter().fold(sum, |sum, number| sum.wrapping_add(u64::from_ne_bytes(*number)));
        let done = if bytes.len() < 8 { bytes.len() } else { bytes.len() - bytes.len() % 8 };
        reader.consume(done);
    }
}
