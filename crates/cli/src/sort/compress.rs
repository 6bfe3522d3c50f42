//! What a sort compresses: its output, and its temporary files.

use std::path::Path;

use clap::ValueEnum;
use eagre::compressed::Format;
use eagre::external::FileSorter;

/// Options for compression.
#[derive(clap::Args)]
pub(super) struct CompressArgs {
    /// Compress OUT, whatever its name is, by all threads
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["index", "check", "check_quietly"])]
    compress: Option<Codec>,

    /// Compress temporary files (lz4): less room, and less time if the disk is slow
    #[arg(long)]
    compress_runs: bool,

    /// As --compress-runs; PROG is lz4, gzip or zstd, and is not run
    #[arg(long, value_name = "PROG", value_parser = program)]
    compress_program: Option<Program>,
}

/// The formats of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Codec {
    /// gzip, with a member for each MiB
    #[value(alias = "gzip")]
    Gz,
    /// Zstandard, with a frame for each MiB
    #[value(alias = "zstd")]
    Zst,
    /// lz4, with a frame for each MiB
    Lz4,
}

impl CompressArgs {
    /// A sorter that compresses what is to be compressed.
    pub(super) fn apply<'a>(&self, sorter: FileSorter<'a>) -> FileSorter<'a> {
        let sorter = sorter.compress_runs(self.compress_runs || self.compress_program.is_some());
        match self.compress {
            Some(Codec::Gz) => sorter.compress(Format::Gzip),
            Some(Codec::Zst) => sorter.compress(Format::Zstd),
            Some(Codec::Lz4) => sorter.compress(Format::Lz4),
            None => sorter,
        }
    }

    /// Whether the output is compressed.
    pub(super) fn is_output(&self) -> bool {
        self.compress.is_some()
    }
}

/// A program of GNU sort's `--compress-program` whose work is done here.
#[derive(Clone, Copy, Debug)]
struct Program;

fn program(name: &str) -> Result<Program, String> {
    match Path::new(name).file_name().and_then(|name| name.to_str()) {
        Some("lz4" | "gzip" | "zstd") => Ok(Program),
        _ => Err("no program is run to compress temporary files: they are compressed with --compress-runs".to_owned()),
    }
}
