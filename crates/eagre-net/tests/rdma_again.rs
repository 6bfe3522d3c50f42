//! Streams over RDMA that are opened, fail and are closed, again and again, leave neither descriptors nor mappings behind.
#![forbid(unsafe_code)]

use std::io::Write;
use std::time::Duration;

use eagre_net::{Connector, Libfabric, Listener, Options, Rdma};

/// How many entries a directory of this process has, or lines a file.
fn count(what: &str) -> usize {
    match what {
        "fd" => std::fs::read_dir("/proc/self/fd").unwrap().count(),
        _ => std::fs::read_to_string(format!("/proc/self/{what}")).unwrap().lines().count(),
    }
}

/// One stream that one of its ends gives up at once.
fn fail(rdma: Rdma, reader_gives_up: bool) {
    let options = Options::new().retry(Duration::from_secs(60)).silence(Duration::from_secs(30)).rdma(rdma);
    let listener = Listener::bind("127.0.0.1:0", options.clone()).unwrap();
    let connector = Connector::new(&listener.local_address().to_string()).unwrap().options(options);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = connector.writer("fails").unwrap();
            // The rest finds no room where nobody reads.
            let written = writer.write_all(&vec![7; 3 << 20]);
            if !reader_gives_up {
                written.unwrap();
                writer.fail("on purpose");
            }
            assert!(writer.finish().is_err());
        });
        let mut reader = listener.reader("fails").unwrap();
        if reader_gives_up {
            reader.control().cancel();
        }
        assert!(std::io::copy(&mut *reader, &mut std::io::sink()).is_err());
        assert!(reader.finish().is_err());
    });
}

#[test]
fn nothing_is_left_of_streams_that_fail() {
    if let Err(error) = Libfabric::find() {
        eprintln!("skipped: {error}");
        return;
    }
    for how in ["tcp", "tcp,each-block", "tcp,copy", "shm,copy"] {
        let rdma: Rdma = how.parse().unwrap();
        if !how.contains("copy") && eagre::Pipe::builder().on_fixed_pool().is_err() {
            eprintln!("skipped: {how}: signal and map do not work here");
            continue;
        }
        // The first ones load libraries and start what stays.
        (0..8).for_each(|number| fail(rdma, number % 2 == 0));
        let before = ["fd", "maps"].map(count);
        (0..20).for_each(|number| fail(rdma, number % 2 == 0));
        let after = ["fd", "maps"].map(count);
        eprintln!(
            "{}",
            String::from_utf8_lossy(
                &std::process::Command::new("bash")
                    .args([
                        "-c",
                        &format!(
                            "ss -tanp | grep pid={} ; ss -xp | grep pid={} | wc -l",
                            std::process::id(),
                            std::process::id()
                        )
                    ])
                    .output()
                    .unwrap()
                    .stdout
            )
        );
        // Listeners end a moment later, and the heap takes and gives mappings.
        assert!(after[0] <= before[0] + 8 && after[1] <= before[1] + 40, "{how}: {before:?}, {after:?}");
    }
}
