//! Sorting files of records of any size.

use std::ops::ControlFlow;

use eagre::external::{FileSorter, Input, Progress as Sorted};
use eagre::records::{Fixed, Format, KeyRange, Klv, Lines};

use super::Args;
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::message::{self, Message};
use crate::progress::Progress;

/// What the files hold.
#[derive(clap::Args)]
#[group(multiple = true)]
pub(super) struct FormatArgs {
    /// Sort lines of text by their bytes (this is the default)
    #[arg(long, conflicts_with_all = ["gensort", "record", "klv"])]
    lines: bool,

    /// Sort records of 100 bytes whose first 10 bytes are the key, as in the sort benchmark
    #[arg(long, conflicts_with_all = ["record", "klv", "key"])]
    gensort: bool,

    /// Sort records of N bytes by their --key, or by all bytes
    #[arg(long, value_name = "N", conflicts_with = "klv")]
    record: Option<usize>,

    /// Compare bytes OFFSET:LENGTH of records, or the number OFFSET:TYPE (such as 8:u32be), :desc for descending; several
    /// keys are compared in turn
    #[arg(long, value_name = "KEY", requires = "record")]
    key: Vec<KeyRange>,

    /// Sort records of a key of K bytes, the length of the value in L bytes, and the value; be may follow if the length has
    /// its most significant byte first
    #[arg(long, value_name = "K:L")]
    klv: Option<Klv>,
}

/// The records of files, and what to do with them.
pub(super) struct Records<'a> {
    pub(super) args: &'a Args,
}

impl Records<'_> {
    pub(super) fn run(self, console: &mut Console) -> Run {
        let given = &self.args.format;
        match (given.gensort, given.record, given.klv) {
            (true, ..) => self.sort(&Fixed::gensort(), console),
            (_, Some(size), _) => {
                let format = Fixed::new(size, &given.key)
                    .map_err(|why| Failure::Trouble(Message::new("sort", "--key", why).to_string()))?;
                self.sort(&format, console)
            }
            (_, _, Some(klv)) => self.sort(&klv, console),
            _ => self.sort(&Lines::default(), console),
        }
    }

    fn sort<F: Format>(&self, format: &F, console: &mut Console) -> Run {
        let args = self.args;
        let target = args.target();
        target.check_json("sort", "records", args.json, "name a file with -o")?;
        let mut inputs = Vec::new();
        for argument in Argument::all(&args.files) {
            let input = argument
                .open_scan()
                .map_err(|error| Failure::Trouble(Message::from_io("sort", argument.place(), &error).to_string()))?;
            inputs.push(Input::new(argument.place(), input));
        }
        if !args.no_progress {
            console.watch(Progress::new("sort", None));
        }
        let gauge = console.gauge();
        let show = |sorted: Sorted| {
            gauge.advance(sorted.done);
            ControlFlow::Continue(())
        };
        let mut sorter = FileSorter::new().threads(args.threads().get()).descending(args.reverse).unique(args.unique);
        if let Some(memory) = args.memory {
            sorter = sorter.memory(memory);
        }
        if let Some(head) = args.head {
            sorter = sorter.head(head as u64);
        }
        for directory in &args.temp {
            sorter = sorter.temporary(directory);
        }
        let output = target.open().map_err(|error| target.failure("sort", &error))?;
        let direct = output.is_direct();
        let report = sorter.progress(&show).sort(format, inputs, output, target.place());
        let report = report.map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
            _ => Failure::Trouble(message::of_file(&error)),
        })?;
        if args.explain {
            for phase in &report.phases {
                console.remark(&format!(
                    "{:12} {:8.3} s  read {:12}  written {:12}",
                    phase.name,
                    phase.time.as_secs_f64(),
                    phase.read,
                    phase.written
                ));
            }
        }
        Ok(Exit::Yes)
    }
}
