//! Sorts a file of 64-bit numbers, as `numpy.ndarray.tofile` writes them, and tells the one in the middle.
//!
//! `cargo run --release -p eagre --example sort_file -- numbers.bin sorted.bin`
//!
//! The file may be sorted onto itself: the new one appears, complete, when all of it is on the disk.

use eagre::{file, keys, sort};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: sort_file NUMBERS SORTED".into());
    };

    let mut numbers = keys::vector::<u64>(None, 0)?;
    keys::read(&mut file::open(from)?, &mut numbers, |_| ())?;

    let start = Instant::now();
    sort::sort(&mut numbers);
    println!("{} numbers sorted in {:.3} s", numbers.len(), start.elapsed().as_secs_f64());
    if let Some(middle) = numbers.get(numbers.len() / 2) {
        println!("the one in the middle is {middle}");
    }

    let mut sorted = file::create(to)?;
    keys::write(&numbers, &mut sorted, |_| ())?;
    sorted.finish()?;
    Ok(())
}
