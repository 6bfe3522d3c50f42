//! Whatever the plan and however many threads: the same parts, in order; the first error and nothing after it; and
//! nobody left behind.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::ops::ControlFlow::{Break, Continue};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use eagre::count::Counter;
use eagre::scan::{Cancelled, Input, Plan, Scan, Scanner};

const MIB: usize = 1 << 20;

/// Every way to scan.
fn ways() -> impl Iterator<Item = (Plan, usize)> {
    Plan::ALL.into_iter().flat_map(|plan| [1, 2, 5].map(|threads| (plan, threads)))
}

fn file_of(bytes: &[u8]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

/// Bytes of all values, with a period that no piece has.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251 + i / 65_521) as u8).collect()
}

/// Returns every piece as it came.
struct Echo;

impl Scan for Echo {
    type Worker = usize;
    type Part = (u64, Vec<u8>);

    fn worker(&self) -> usize {
        0
    }

    fn piece(&self, pieces: &mut usize, offset: u64, bytes: &[u8]) -> Self::Part {
        *pieces += 1;
        (offset, bytes.to_vec())
    }
}

#[test]
fn parts_cover_the_input_in_order_whatever_the_plan() {
    for length in [0, 1, 4096, MIB, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 9 * MIB + 4097, 24 * MIB] {
        let data = pattern(length);
        let mut file = file_of(&data);
        for (plan, threads) in ways() {
            for start in [0, 1, 4096, length / 3, length, length + 10] {
                file.seek(SeekFrom::Start(start as u64)).unwrap();
                let context = format!("{length} bytes from {start}, {plan}, {threads} threads");
                let mut got = Vec::new();
                let input = Input::File(file.try_clone().unwrap());
                let scanned = Scanner::new()
                    .threads(threads)
                    .plan(plan)
                    .input(input, &Echo, |end, (offset, bytes)| {
                        assert!(!bytes.is_empty());
                        assert_eq!(offset, got.len() as u64, "{context}");
                        got.extend(bytes);
                        assert_eq!(end, got.len() as u64, "{context}");
                        Continue(())
                    })
                    .unwrap();
                assert_eq!(scanned.bytes, got.len() as u64, "{context}");
                assert!(got == data[start.min(length)..], "{context}");
                assert_eq!(file.stream_position().unwrap(), start.max(length) as u64, "{context}");
                assert!(scanned.workers.len() <= threads, "{context}");
                if length - start.min(length) > 2 * MIB {
                    assert_eq!(scanned.choice.plan, plan, "{context}");
                }
            }
        }
    }
}

#[test]
fn counts_are_the_same_whatever_the_plan() {
    let words: Vec<u8> = b"some words,\ta tab \xff\x01 and \r\n\n".iter().copied().cycle().take(7 * MIB + 5).collect();
    let corpus = [
        Vec::new(),
        b"no newline".to_vec(),
        pattern(5 * MIB),
        words,
        vec![b'\t'; 3 * MIB],
        vec![0; 4 * MIB],
        vec![b'x'; 64 * MIB],
    ];
    for data in &corpus {
        let count = |counter: Counter<'_>, file: &File| {
            (&*file).rewind().unwrap();
            let mut counter = counter.words(true).longest(true);
            counter.input(file.try_clone().unwrap()).unwrap().counts
        };
        // `Read` by the byte, with the loop for sources that are no files.
        let plain = Counter::new().words(true).longest(true).read(&data[..]).unwrap();
        let file = file_of(data);
        // The longest takes long without optimisation.
        let enough = if data.len() < 64 * MIB { usize::MAX } else { 2 };
        for (plan, threads) in ways().take(enough) {
            let counted = count(Counter::new().threads(threads).plan(plan), &file);
            assert_eq!(counted, plain, "{} bytes, {plan}, {threads} threads", data.len());
        }
    }
}

/// Counts the pieces that were looked at, and notes how far that got ahead of what was delivered.
#[derive(Default)]
struct Watched {
    looked_at: AtomicUsize,
    delivered: AtomicU64,
    furthest_ahead: AtomicU64,
}

impl Scan for Watched {
    type Worker = ();
    type Part = ();

    fn worker(&self) {}

    fn piece(&self, (): &mut (), offset: u64, _: &[u8]) {
        self.looked_at.fetch_add(1, SeqCst);
        self.furthest_ahead.fetch_max(offset.saturating_sub(self.delivered.load(SeqCst)), SeqCst);
    }
}

#[test]
fn nobody_runs_far_ahead_of_what_was_delivered() {
    let file = file_of(&vec![1; 48 * MIB]);
    for (plan, threads) in ways() {
        let watched = Watched::default();
        (&file).rewind().unwrap();
        Scanner::new()
            .threads(threads)
            .plan(plan)
            .input(file.try_clone().unwrap().into(), &watched, |end, ()| {
                watched.delivered.store(end, SeqCst);
                Continue(())
            })
            .unwrap();
        // Four pieces for each thread, of at most 2 MiB.
        let most = (threads * 4 * 2 * MIB) as u64;
        let ahead = watched.furthest_ahead.load(SeqCst);
        assert!(ahead <= most, "{plan}, {threads} threads: {ahead} ahead");
    }
}

#[test]
fn a_break_stops_everybody() {
    let file = file_of(&vec![1; 48 * MIB]);
    for (plan, threads) in ways() {
        let watched = Watched::default();
        (&file).rewind().unwrap();
        let mut parts = 0;
        let scanned = Scanner::new()
            .threads(threads)
            .plan(plan)
            .input(file.try_clone().unwrap().into(), &watched, |_, ()| {
                parts += 1;
                if parts == 3 { Break(()) } else { Continue(()) }
            })
            .unwrap();
        let context = format!("{plan}, {threads} threads");
        assert_eq!(parts, 3, "{context}");
        assert!(watched.looked_at.load(SeqCst) <= 3 + 4 * threads, "{context}");
        assert_eq!((&file).stream_position().unwrap(), scanned.bytes, "{context}");
        assert!(scanned.bytes <= 3 * 2 * MIB as u64, "{context}");
    }
}

/// Panics at one piece.
struct Panicking {
    at: u64,
}

impl Scan for Panicking {
    type Worker = ();
    type Part = ();

    fn worker(&self) {}

    fn piece(&self, (): &mut (), offset: u64, bytes: &[u8]) {
        assert!(!(offset..offset + bytes.len() as u64).contains(&self.at), "piece of doom");
    }
}

#[test]
fn panics_arrive_at_the_caller() {
    let file = file_of(&vec![1; 32 * MIB]);
    for (plan, threads) in ways() {
        let run = |at: u64, deliver: &mut dyn FnMut()| {
            (&file).rewind().unwrap();
            let mut scanner = Scanner::new().threads(threads).plan(plan);
            let input = file.try_clone().unwrap().into();
            let run = || scanner.input(input, &Panicking { at }, |_, ()| (deliver(), Continue(())).1).unwrap().bytes;
            catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panic.downcast_ref::<&str>().unwrap().to_string())
        };
        // Whoever gets that piece, a helper or the caller.
        for at in [0, 5 * MIB as u64, 32 * MIB as u64 - 1] {
            assert_eq!(run(at, &mut || ()), Err("piece of doom".into()), "{plan}, {threads} threads");
        }
        assert_eq!(run(u64::MAX, &mut || panic!("delivery of doom")), Err("delivery of doom".into()));
        assert_eq!(run(u64::MAX, &mut || ()), Ok(32 * MIB as u64));
    }
}

#[test]
fn a_file_that_is_cut_meanwhile_is_an_error_and_what_came_before_is_delivered() {
    const LENGTH: usize = 64 * MIB;
    let data = pattern(LENGTH);
    // In the middle of the file and of a page, and inside its last page.
    for left in [40 * MIB + 123, 0, LENGTH - 100] {
        for (plan, threads) in ways().filter(|(plan, _)| *plan != Plan::Stream) {
            let file = file_of(&data);
            let mut got = Vec::new();
            let run = Scanner::new().threads(threads).plan(plan).input(
                file.try_clone().unwrap().into(),
                &Echo,
                |_, (_, bytes)| {
                    if got.is_empty() {
                        file.set_len(left as u64).unwrap();
                    }
                    got.extend(bytes);
                    Continue(())
                },
            );
            let context = format!("cut to {left}, {plan}, {threads} threads");
            let error = run.expect_err(&context);
            assert_eq!(error.source.kind(), ErrorKind::UnexpectedEof, "{context}: {error}");
            assert!(error.to_string().contains("became shorter"), "{error}");
            assert_eq!(error.bytes, got.len() as u64, "{context}");
            assert!(!got.is_empty() && got == data[..got.len()], "{context}: only true bytes are delivered");
        }
    }
}

#[test]
fn a_file_that_grows_meanwhile_is_scanned_to_its_end() {
    let data = pattern(50 * MIB);
    for length in [48 * MIB, 48 * MIB + 1000] {
        for (plan, threads) in ways() {
            let file = file_of(&data[..length]);
            let mut got = Vec::new();
            Scanner::new()
                .threads(threads)
                .plan(plan)
                .input(file.try_clone().unwrap().into(), &Echo, |_, (_, bytes)| {
                    if got.is_empty() {
                        file.write_all_at(&data[length..], length as u64).unwrap();
                    }
                    got.extend(bytes);
                    Continue(())
                })
                .unwrap();
            assert!(got == data, "{length}, {plan}, {threads} threads: {} bytes", got.len());
        }
    }
}

#[test]
fn streams_and_pipes_are_scanned_as_they_come() {
    let data = pattern(9 * MIB + 3);
    let (mut writer, reader) = eagre::Pipe::open().unwrap().split();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            writer.copy_in(&data).unwrap();
            writer.finish().unwrap();
        });
        let mut got = Vec::new();
        let scanned = Scanner::new().threads(2).input(reader.into(), &Echo, |_, (_, bytes)| {
            got.extend(bytes);
            Continue(())
        });
        assert_eq!(scanned.unwrap().choice.plan, Plan::Stream);
        assert!(got == data);
    });

    let (read, write) = std::io::pipe().unwrap();
    std::thread::scope(|scope| {
        // The end of the pipe is closed when it is done.
        scope.spawn(|| { write }.write_all(&data).unwrap());
        let file = File::from(std::os::fd::OwnedFd::from(read));
        let mut got = Vec::new();
        // A plan for regular files makes no difference.
        let scanned = Scanner::new().threads(2).plan(Plan::Map).input(file.into(), &Echo, |_, (_, bytes)| {
            got.extend(bytes);
            Continue(())
        });
        assert_eq!(scanned.unwrap().choice.plan, Plan::Stream);
        assert!(got == data);
    });
}

#[test]
fn an_error_of_the_first_read_is_an_error() {
    let error = Scanner::new().input(Input::open("/").unwrap(), &Echo, |_, _| Continue(())).unwrap_err();
    assert_eq!((error.bytes, error.source.kind()), (0, ErrorKind::IsADirectory));
}

#[test]
fn a_hook_hears_how_far_it_is_and_can_end_it() {
    let length = 9 * MIB + 3;
    let file = file_of(&vec![b'\n'; length]);
    for (plan, threads) in ways() {
        let context = format!("{plan}, {threads} threads");
        (&file).rewind().unwrap();
        let heard = Mutex::new(Vec::new());
        let stop = |bytes| {
            let mut heard = heard.lock().unwrap();
            heard.push(bytes);
            if heard.len() == 3 { Break(()) } else { Continue(()) }
        };
        let mut counter = Counter::new().threads(threads).plan(plan).progress(&stop);
        let error = counter.input(file.try_clone().unwrap()).unwrap_err();
        assert!(error.is_cancelled(), "{context}: {error}");
        assert!(error.to_string().starts_with("cancelled after "), "{error}");
        assert!(Cancelled::is_cause_of(&std::io::Error::from(error)));
        let heard = heard.into_inner().unwrap();
        assert!(heard.len() == 3 && heard.is_sorted(), "{context}: {heard:?}");
        // Nothing after the piece that was told of last.
        assert_eq!((&file).stream_position().unwrap(), heard[2], "{context}");

        (&file).rewind().unwrap();
        let last = AtomicU64::new(0);
        let note = |bytes| (last.store(bytes, SeqCst), Continue(())).1;
        let counted = Counter::new().threads(threads).plan(plan).progress(&note).input(file.try_clone().unwrap());
        assert_eq!(counted.unwrap().counts.lines, Some(length as u64), "{context}");
        assert_eq!(last.load(SeqCst), length as u64, "{context}");
    }
}

#[test]
fn each_question_is_cancelled_alike() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"key;1\n").unwrap();
    let (path, stop) = (file.path(), |_| Break(()));
    for counter in [Counter::new(), Counter::new().lines(false)] {
        let error = counter.progress(&stop).file(path).unwrap_err();
        assert!(Cancelled::is_cause_of(&error), "{error}");
    }
    let error = Counter::new().progress(&stop).read(&b"text"[..]).unwrap_err();
    assert!(error.is_cancelled() && error.counts.bytes == 4, "{error}");
    #[cfg(feature = "find")]
    {
        let finder = eagre::find::Finder::new("key").unwrap().progress(&stop);
        let mut again = finder.clone();
        let errors =
            [again.file(path), finder.read(&b"text"[..]), again.each_in_file(path, |_| Continue(())).map(|()| 0)];
        assert!(errors.iter().all(|error| Cancelled::is_cause_of(error.as_ref().unwrap_err())), "{errors:?}");
    }
    #[cfg(feature = "stats")]
    {
        use eagre::stats::{Aggregator, StatsError};
        let mut aggregator = Aggregator::new().progress(&stop);
        assert!(matches!(aggregator.file(path), Err(StatsError::Cancelled)));
        assert!(matches!(aggregator.read(&b"other;1\n"[..]), Err(StatsError::Cancelled)));
        assert_eq!(aggregator.finish().unwrap().len(), 0, "nothing of a cancelled input is kept");
    }
}

/// In a process of its own: what has been looked at in a mapped file does not stay with the process.
#[test]
fn a_mapped_file_takes_little_memory() {
    const INSIDE: &str = "EAGRE_TEST_MEMORY_OF_A_MAP";
    if let Some(path) = std::env::var_os(INSIDE) {
        for threads in [1, 2] {
            let counted = Counter::new().threads(threads).plan(Plan::Map).file(&path).unwrap();
            assert_eq!(counted.choice.unwrap().plan, Plan::Map);
            assert_eq!(counted.counts.bytes, 600 << 20);
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kilobytes < 64 << 10, "{kilobytes} KiB at most");
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("vast");
    File::create(&path).unwrap().set_len(600 << 20).unwrap();
    std::io::copy(&mut File::open(&path).unwrap(), &mut std::io::sink()).unwrap();
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let again = again.args(["--exact", "a_mapped_file_takes_little_memory", "--nocapture"]).env(INSIDE, &path);
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
