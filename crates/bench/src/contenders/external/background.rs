//! Other programs that use the device while a sort runs: threads that read or write a file of their own, over and over.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::catalogue::Background;
use crate::contenders::Trouble;

/// Bytes moved at a time.
const PIECE: usize = 256 << 10;

/// Bytes of each thread's file, if what is sorted is not smaller: more than a cache holds.
const MOST: u64 = 64 << 20;

/// Runs `work`, which sorts `size` bytes, while so many threads read or write files in `directory`. The files stay behind.
pub(super) fn beside<R>(
    background: Option<Background>,
    (directory, size): (&Path, u64),
    work: impl FnOnce() -> Result<R, Trouble>,
) -> Result<R, Trouble> {
    let Some(Background { threads, writes }) = background else { return work() };
    let length = size.clamp(PIECE as u64, MOST) / PIECE as u64 * PIECE as u64;
    let failed = |e| Trouble::failed("background", e);
    let files =
        (0..threads).map(|i| file(&directory.join(format!("background-{i}")), length)).collect::<io::Result<Vec<_>>>();
    let files = files.map_err(failed)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = files.iter().map(|file| scope.spawn(|| keep_busy(file, length, writes, &stop))).collect();
        let result = work();
        stop.store(true, Ordering::Relaxed);
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(Err(io::ErrorKind::Other.into())));
        // One that ended early was no load.
        ended.collect::<io::Result<()>>().map_err(failed)?;
        result
    })
}

/// A file to read from, or to write again.
fn file(path: &Path, length: u64) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    (0..length).step_by(PIECE).try_for_each(|at| file.write_all_at(&[1; PIECE], at))?;
    Ok(file)
}

fn keep_busy(file: &File, length: u64, writes: bool, stop: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![1; PIECE];
    for at in (0..length).step_by(PIECE).cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if writes {
            file.write_all_at(&buffer, at)?;
        } else {
            file.read_exact_at(&mut buffer, at)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_beside_both_and_its_failure_is_told() {
        let directory = tempfile::tempdir().unwrap();
        for (writes, threads) in [(false, 1), (true, 2)] {
            let room = directory.path().join(writes.to_string());
            std::fs::create_dir(&room).unwrap();
            let background = Some(Background { threads, writes });
            assert_eq!(beside(background, (&room, 1_000_000), || Ok(7)).unwrap(), 7);
            assert_eq!(std::fs::read_dir(&room).unwrap().count(), threads);
        }
        let wrong = || Err::<(), _>(Trouble::Wrong("it".into()));
        assert!(matches!(beside(None, (directory.path(), 0), wrong), Err(Trouble::Wrong(_))));
    }
}
