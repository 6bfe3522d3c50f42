//! A command whose memory is refused ends with a line.
#![forbid(unsafe_code)]

use eagre_mem::fatal::FatalHeap;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::process::Command;

#[global_allocator]
static HEAP: FatalHeap = FatalHeap::new("command: no memory left; use less", 2);

/// Set in the child, which takes memory until it ends.
const CHILD: &str = "EAGRE_TEST_TAKES_ALL";

#[test]
fn a_small_piece_that_is_refused_is_a_line_and_an_exit_code() {
    if std::env::var_os(CHILD).is_some() {
        take_all();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_small_piece_that_is_refused_is_a_line_and_an_exit_code", "--nocapture"]);
    let output = child.env(CHILD, "1").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "command: no memory left; use less\n");
}

fn take_all() -> ! {
    let most = Some(1 << 30);
    setrlimit(Resource::As, Rlimit { current: most, maximum: most }).unwrap();
    // A large piece is refused as ever.
    assert!(Vec::<u8>::new().try_reserve_exact(2 << 30).is_err());
    // Several threads are refused at once, and one of them says so.
    let take = || {
        loop {
            std::mem::forget(std::hint::black_box(vec![1u8; 1000]));
        }
    };
    (0..3).for_each(|_| drop(std::thread::spawn(take)));
    take()
}
