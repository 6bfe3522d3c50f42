//! Options that GNU sort has and that mean the same here: checking, merging, and memory.

use std::str::FromStr;

use clap::ValueEnum;

/// Options of GNU sort for the work as a whole.
#[derive(clap::Args)]
pub(super) struct GnuArgs {
    /// Write nothing, but tell the first record that is out of order, if there is one; with =quiet or =silent, only the
    /// exit status says it
    #[arg(
        short = 'c',
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "diagnose-first",
        conflicts_with_all = ["output", "head", "merge"]
    )]
    check: Option<Checking>,

    /// As --check=quiet
    #[arg(short = 'C', conflicts_with_all = ["output", "head", "merge"])]
    check_quietly: bool,

    /// Merge FILEs that are sorted, without sorting them
    #[arg(short = 'm', long)]
    merge: bool,

    /// Use at most SIZE of memory, as --memory; K, M, G, T, or b for bytes, or % of the machine's memory may follow [default
    /// unit: K]
    #[arg(short = 'S', long, value_name = "SIZE", conflicts_with = "memory")]
    buffer_size: Option<BufferSize>,
}

/// What a check prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Checking {
    /// The first record that is out of order
    DiagnoseFirst,
    /// Nothing
    #[value(alias = "silent")]
    Quiet,
}

impl GnuArgs {
    /// Whether to check the order, and what to print.
    pub(super) fn check(&self) -> Option<Checking> {
        if self.check_quietly { Some(Checking::Quiet) } else { self.check }
    }

    /// Whether the inputs are sorted already.
    pub(super) fn merge(&self) -> bool {
        self.merge
    }

    /// The memory to use in bytes.
    pub(super) fn memory(&self) -> Option<u64> {
        match self.buffer_size? {
            BufferSize::Bytes(bytes) => Some(bytes),
            BufferSize::Percent(percent) => Some(part(physical_memory()?, percent)),
        }
    }
}

/// A size as `-S` of GNU sort takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferSize {
    Bytes(u64),
    Percent(u64),
}

fn part(bytes: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

/// The memory of the machine in bytes, as `/proc/meminfo` has it.
fn physical_memory() -> Option<u64> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = facts.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

impl FromStr for BufferSize {
    type Err = String;

    fn from_str(text: &str) -> Result<BufferSize, String> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, unit) = text.split_at(digits);
        let number: u64 = match digits.parse() {
            Ok(number) => number,
            Err(_) if digits.is_empty() => return Err("a size is a number, and a unit if wanted".to_owned()),
            Err(_) => return Err("too large".to_owned()),
        };
        let shift = match unit {
            "%" => return Ok(BufferSize::Percent(number)),
            "b" => 0,
            "" | "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            "t" | "T" => 40,
            "P" => 50,
            "E" => 60,
            _ => return Err("the unit is none of b K M G T P E %".to_owned()),
        };
        number.checked_mul(1 << shift).map(BufferSize::Bytes).ok_or_else(|| "too large".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_gnu_sort() {
        for (text, size) in [
            ("1", BufferSize::Bytes(1024)),
            ("7b", BufferSize::Bytes(7)),
            ("2k", BufferSize::Bytes(2048)),
            ("3M", BufferSize::Bytes(3 << 20)),
            ("1T", BufferSize::Bytes(1 << 40)),
            ("50%", BufferSize::Percent(50)),
        ] {
            assert_eq!(text.parse(), Ok(size), "{text}");
        }
        for wrong in ["", "K", "-1", "1x", "1KiB", "1 K", "99999999999999999999", "99999999999999G", "1%%"] {
            wrong.parse::<BufferSize>().expect_err(wrong);
        }
        assert_eq!(part(1000, 50), 500);
        assert_eq!(part(u64::MAX, 200), u64::MAX);
    }
}
