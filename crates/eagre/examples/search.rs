//! Counts lines and words and finds a word in a file of any size, with all processors:
//! `cargo run --release --example search WORD FILE`. Reads `.gz`, `.zst` and `.lz4` files as what is in them.

use std::error::Error;
use std::ops::ControlFlow;
use std::process::ExitCode;

use eagre::count::Counter;
use eagre::find::Finder;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, word, file] = arguments.as_slice() else {
        eprintln!("usage: search WORD FILE");
        return ExitCode::from(2);
    };
    match search(word, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("search: {file}: {error}");
            ExitCode::from(2)
        }
    }
}

fn search(word: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let counted = Counter::new().words(true).input(eagre::compressed::open(file)?)?;
    println!("{} lines, {} words", counted.counts.lines.unwrap_or(0), counted.counts.words.unwrap_or(0));

    let mut finder = Finder::new(word)?;
    let mut first = None;
    finder.each_in_input(eagre::compressed::open(file)?, |found| {
        first = Some(found.start);
        ControlFlow::Break(())
    })?;
    let times = finder.input(eagre::compressed::open(file)?)?;
    match first {
        Some(offset) => println!("{times} times {word}, first at byte {offset}"),
        None => println!("no {word}"),
    }
    Ok(())
}
