//! By what keys are parted: three ways to say it.

use std::ffi::OsString;
use std::str::FromStr;

use eagre::partition::Partitioner;

use crate::exit::Failure;
use crate::inputs::Argument as Input;
use crate::keys::KeyFiles;
use crate::message::Message;

/// The most buckets there can be.
const MOST: usize = 1024;

/// The options of which one is needed.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Split {
    /// Into N ranges of equal width
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=MOST as i64))]
    ways: Option<u16>,

    /// By BITS bits of the key, 1 to 10, above the SHIFT lowest
    #[arg(long, value_name = "SHIFT:BITS", value_parser = bits)]
    bits: Option<(u32, u32)>,

    /// By boundaries in ascending order: each begins a bucket, and the first bucket is what is less than all of them
    #[arg(long, value_name = "A,B,C", allow_hyphen_values = true)]
    boundaries: Option<String>,

    /// By boundaries in a file, one in a line; - is standard input
    #[arg(long, value_name = "F", value_hint = clap::ValueHint::FilePath)]
    boundaries_from: Option<OsString>,
}

fn bits(text: &str) -> Result<(u32, u32), String> {
    let pair = text.split_once(':').and_then(|(shift, bits)| Some((shift.parse().ok()?, bits.parse().ok()?)));
    pair.ok_or_else(|| "two numbers with a colon between them are wanted, such as 56:8".to_owned())
}

impl Split {
    /// The partitioner that is asked for, for keys of `all` bits, and how many buckets it makes. `key` is the number that a
    /// boundary stands for; `files` are where the keys come from.
    pub(super) fn partitioner<B: FromStr>(
        &self,
        files: &KeyFiles,
        all: u32,
        key: impl Fn(&B) -> u64,
    ) -> Result<(Partitioner, usize), Failure> {
        let partitioner = Partitioner::new();
        if let Some(ways) = self.ways {
            return Ok((partitioner.ways(ways.into()), ways.into()));
        }
        if let Some((shift, bits)) = self.bits {
            if !(1..=10).contains(&bits) || shift.checked_add(bits).is_none_or(|end| end > all) {
                let why =
                    format!("keys have {all} bits; SHIFT and BITS are at most that together, and BITS is 1 to 10");
                return Err(trouble(format!("--bits {shift}:{bits}"), why, "such as --bits 0:8"));
            }
            return Ok((partitioner.bits(shift, bits), 1 << bits));
        }
        let (place, text) = match (&self.boundaries, &self.boundaries_from) {
            (Some(text), _) => ("--boundaries".to_owned(), text.clone()),
            (None, Some(file)) => {
                let input = Input::of(file);
                // Read as boundaries, a pipe would have no keys left, and empty buckets take the places of full ones.
                if input.metadata().is_ok_and(|there| files.find(&there).is_some()) {
                    let why = "cannot be both the keys and their boundaries";
                    return Err(trouble(input.place(), why, "name the FILEs of the keys"));
                }
                let text = input.open().and_then(std::io::read_to_string);
                let text = text.map_err(|error| {
                    Failure::Trouble(Message::from_io("partition", input.place(), &error).to_string())
                })?;
                (input.place(), text)
            }
            // clap has seen to it that one of them is there.
            (None, None) => return Ok((partitioner, 256)),
        };
        let boundaries = boundaries(&place, &text, key)?;
        Ok((partitioner.boundaries(&boundaries), boundaries.len() + 1))
    }
}

/// The numbers in a text, by commas and white space.
fn boundaries<B: FromStr>(place: &str, text: &str, key: impl Fn(&B) -> u64) -> Result<Vec<u64>, Failure> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let mut found: Vec<u64> = Vec::new();
    for word in words {
        let shown = word.escape_debug();
        let Ok(boundary) = word.parse::<B>() else {
            return Err(trouble(place, format!("'{shown}' is no key"), "boundaries are of the type that --keys names"));
        };
        let boundary = key(&boundary);
        if found.last().is_some_and(|&last| last > boundary) {
            return Err(trouble(
                place,
                format!("'{shown}' is less than the boundary before it"),
                "sort the boundaries",
            ));
        }
        found.push(boundary);
    }
    if !(1..MOST).contains(&found.len()) {
        let why = format!("{} boundaries; there can be 1 to {}", found.len(), MOST - 1);
        return Err(trouble(place, why, "with none there is nothing to part, with more part twice"));
    }
    Ok(found)
}

fn trouble(place: impl Into<String>, why: impl Into<String>, cure: &str) -> Failure {
    Failure::Trouble(Message::new("partition", place, why).cure(Some(cure)).to_string())
}
