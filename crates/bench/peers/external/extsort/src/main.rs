//! Sorts a file of fixed-size records with the crate `extsort`.
//!
//! `eagre-peer-extsort LENGTH IN OUT TEMP MEMORY THREADS`: LENGTH is 100 (keys are the first ten bytes) or 8
//! (little-endian numbers), MEMORY is in bytes. `--version` prints the version of the crate.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use extsort::{ExternalSorter, Sortable};

/// Bytes read and written at a time.
const BUFFER: usize = 1 << 20;

struct Item<const N: usize>([u8; N]);

impl<const N: usize> Sortable for Item<N> {
    fn encode<W: Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(&self.0)
    }

    fn decode<R: Read>(reader: &mut R) -> io::Result<Self> {
        let mut bytes = [0; N];
        reader.read_exact(&mut bytes)?;
        Ok(Item(bytes))
    }
}

fn sort<const N: usize>(
    words: &[String],
    compare: impl Fn(&Item<N>, &Item<N>) -> Ordering + Send + Sync + Clone,
) -> io::Result<()> {
    let [_, from, to, temp, memory, threads] = words else { return Err(io::ErrorKind::InvalidInput.into()) };
    let number = |word: &String| word.parse::<usize>().map_err(io::Error::other);
    let (memory, threads) = (number(memory)?, number(threads)?);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(io::Error::other)?;
    let mut input = BufReader::with_capacity(BUFFER, File::open(from)?);
    let records = input.get_ref().metadata()?.len() / N as u64;
    let items = (0..records).map(move |_| Item::decode(&mut input).expect("the input has all its records"));
    let segment = (memory / N).max(1);
    let mut sorter = ExternalSorter::new().with_segment_size(segment).with_sort_dir(PathBuf::from(temp));
    if threads > 1 {
        sorter = sorter.with_parallel_sort();
    }
    let mut output = BufWriter::with_capacity(BUFFER, File::create(to)?);
    for item in sorter.sort_by(items, compare)? {
        item?.encode(&mut output)?;
    }
    output.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("--version") => {
            println!("extsort 0.5.0");
            Ok(())
        }
        Some("8") => sort::<8>(&words, |a, b| u64::from_le_bytes(a.0).cmp(&u64::from_le_bytes(b.0))),
        _ => sort::<100>(&words, |a, b| a.0[..10].cmp(&b.0[..10])),
    }
}
