//! Refused memory is an error, whichever allocation it is: nothing is lost, nothing leaks, and the process goes on.
//!
//! The allocator is the process's, and the test harness's threads allocate too: so there is none.

mod partition;
mod refusing;
mod scan;
mod snapshots;
mod sort;
mod stats;
mod views;

fn main() {
    let tests = [sort::TESTS, partition::TESTS, scan::TESTS, snapshots::TESTS, stats::TESTS, views::TESTS].concat();
    refusing::run(&tests);
}
