//! `eagre-bench sort-grid`: everybody on every kind of keys, pattern and size, in one process.
//!
//! The rows of the catalogue ask for few cases and measure them well. This asks for hundreds, with few rounds each and keys
//! from a new seed, and shows the worst. A cell in which Eagre is slower than the best peer gets more rounds before it
//! counts. `--steps` asks another question: whether time per key jumps from one size to the next.

mod cell;
mod gauge;
mod kind;
mod pattern;
mod show;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use self::cell::{Care, Cell, Shape};
use self::gauge::Gauge;
use self::pattern::Pattern;
use crate::corpus::Store;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct GridArguments {
    /// Kinds of keys [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = clap::builder::PossibleValuesParser::new(kind::NAMES))]
    kinds: Vec<String>,
    /// Patterns [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = clap::builder::PossibleValuesParser::new(pattern::ALL.map(|(_, name)| name)))]
    patterns: Vec<String>,
    /// Numbers of keys, as powers of two.
    #[arg(long, value_delimiter = ',', value_name = "EXPONENTS", default_value = "8,10,12,14,16,18,20,22,24", value_parser = clap::value_parser!(u32).range(2..=32))]
    sizes: Vec<u32>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', value_name = "N", default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// Rounds for each cell.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Rounds for a cell in which Eagre seems slower than the best peer.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    doubtful: u16,
    /// The seed of the keys [default: another one each time].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Instead: the time per key of Eagre alone for sizes from 32 to 2^22 in steps of 15 %, and where it jumps.
    #[arg(long)]
    steps: bool,
    /// Prints the cells as JSON, one a line.
    #[arg(long)]
    json: bool,
    /// Writes a page with the heat map, grid.html, to this directory.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

/// A step in size may take this much more time per key.
const JUMP: f64 = 1.3;

impl GridArguments {
    fn kinds(&self) -> Vec<&str> {
        if self.kinds.is_empty() { kind::NAMES.to_vec() } else { self.kinds.iter().map(String::as_str).collect() }
    }

    fn patterns(&self, default: &[Pattern]) -> Vec<Pattern> {
        let named = |(pattern, name): &(Pattern, &str)| self.patterns.iter().any(|n| n == name).then_some(*pattern);
        if self.patterns.is_empty() { default.to_vec() } else { pattern::ALL.iter().filter_map(named).collect() }
    }
}

/// Measures, and prints what was found.
pub(crate) fn run(arguments: &GridArguments, print: &dyn Fn(&str) -> Result<(), String>) -> Result<(), String> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(1..1 << 32));
    let care = Care {
        rounds: arguments.rounds.into(),
        doubt: 1.0,
        more: arguments.doubtful.max(arguments.rounds).into(),
        seed,
    };
    let mut gauge = Gauge::new();
    if arguments.steps {
        return steps(arguments, care, &mut gauge, print);
    }
    let store = Store::new(None, false).map_err(|e| format!("sort-grid: bench directory: {e}"))?;
    let result = grid(arguments, care, &mut gauge, &store);
    store.clear();
    let cells = result?;
    if arguments.json {
        cells.iter().try_for_each(|cell| {
            print(&(serde_json::to_string(cell).map_err(|e| format!("sort-grid: json: {e}"))? + "\n"))
        })?;
    } else {
        print(&show::text(&cells, seed))?;
    }
    if let Some(directory) = &arguments.report {
        let path = show::page(directory, &cells, seed)
            .map_err(|e| format!("report: {}: {e}; name a directory that can be written", directory.display()))?;
        eprintln!("report: {}", path.display());
    }
    Ok(())
}

/// Measures all cells, those with the same keys one after the other.
fn grid(arguments: &GridArguments, care: Care, gauge: &mut Gauge, store: &Store) -> Result<Vec<Cell>, String> {
    let patterns = arguments.patterns(&pattern::ALL.map(|(pattern, _)| pattern));
    let mut shapes = Vec::new();
    for &threads in &arguments.threads {
        for &size in &arguments.sizes {
            let shape = |pattern: &Pattern| Shape { pattern: *pattern, keys: 1 << size, threads: threads.into() };
            shapes.extend(patterns.iter().map(shape));
        }
    }
    kind::absent(store).iter().for_each(|why| eprintln!("not here: {why}"));
    let (kinds, mut cells) = (arguments.kinds(), Vec::new());
    let all = kinds.len() * shapes.len();
    for name in kinds {
        for &shape in &shapes {
            if io::stderr().is_terminal() {
                eprint!("\r{} of {all} cells", cells.len());
            }
            cells.push(measure(name, shape, care, gauge, store)?);
        }
    }
    if io::stderr().is_terminal() {
        eprint!("\r                              \r");
    }
    Ok(cells)
}

/// Prints time per key by size, and the jumps.
fn steps(
    arguments: &GridArguments,
    care: Care,
    gauge: &mut Gauge,
    print: &dyn Fn(&str) -> Result<(), String>,
) -> Result<(), String> {
    let mut jumps = Vec::new();
    for name in arguments.kinds() {
        for pattern in arguments.patterns(&[Pattern::Uniform]) {
            for &threads in &arguments.threads {
                let mut before = f64::INFINITY;
                let mut keys = 32usize;
                while keys <= 1 << 22 {
                    let time = alone(name, Shape { pattern, keys, threads: threads.into() }, care, gauge)?;
                    let line = format!("{name} {} {threads} {keys} {time:.2}\n", pattern.name());
                    print(&line)?;
                    if time > JUMP * before {
                        jumps.push(format!("{:.2} times: {line}", time / before));
                    }
                    before = time;
                    keys = (keys as f64 * 1.15).ceil() as usize;
                }
            }
        }
    }
    print(&format!("{} jumps of more than {JUMP} in nanoseconds a key\n{}", jumps.len(), jumps.concat()))
}

macro_rules! with_kind {
    ($name:expr, $function:ident, $($argument:expr),*) => {
        match $name {
            "u32" => cell::$function::<kind::U32>($($argument),*),
            "i32" => cell::$function::<kind::I32>($($argument),*),
            "f32" => cell::$function::<kind::F32>($($argument),*),
            "u64" => cell::$function::<kind::U64>($($argument),*),
            "i64" => cell::$function::<kind::I64>($($argument),*),
            "f64" => cell::$function::<kind::F64>($($argument),*),
            "u32-pair" => cell::$function::<kind::Pair32>($($argument),*),
            "u64-pair" => cell::$function::<kind::Pair64>($($argument),*),
            _ => Err(format!("sort-grid: {}: no such kind", $name)),
        }
    };
}

/// [`cell::measure`] for the kind of this name.
fn measure(name: &str, shape: Shape, care: Care, gauge: &mut Gauge, store: &Store) -> Result<Cell, String> {
    with_kind!(name, measure, shape, care, gauge, store)
}

/// [`cell::alone`] for the kind of this name.
fn alone(name: &str, shape: Shape, care: Care, gauge: &mut Gauge) -> Result<f64, String> {
    with_kind!(name, alone, shape, care, gauge)
}
