//! Sorting files of records of any size.

use std::io;
use std::ops::ControlFlow;

use eagre::device::Emulated;
use eagre::external::{FileSorter, Input, Progress as Sorted};
use eagre::records::{Checker, Fixed, Format, KeyRange, Lines, take_first};
use eagre::scan;

use super::Args;
use super::gnu::Checking;
use super::outcome::Outcome;
use super::report::RecordCheck;
use super::text::{self, Common};
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::keys::KeyType;
use crate::message::{self, Message};
use crate::progress::Progress;

/// An input, and what is left to read of it.
type Opened = (Argument, scan::Input);

/// The records of files, and what to do with them.
pub(super) struct Records<'a> {
    pub(super) args: &'a Args,
}

impl Records<'_> {
    pub(super) fn run(self, console: &mut Console) -> Run {
        let Records { args } = self;
        let given = &args.kind;
        if given.record.is_none() {
            given.refuse_nan("sort")?;
        }
        match (given.gensort, given.record, given.klv) {
            (true, ..) => {
                args.refuse_text("--gensort", true)?;
                self.sort(&Fixed::gensort(), console)
            }
            (_, Some(size), _) => {
                args.refuse_text("--record", false)?;
                let wrong = |why| text::wrong(format!("--key: {why}"));
                let keys: Result<Vec<KeyRange>, _> = args.text.keys().iter().map(|key| key.parse()).collect();
                let format = Fixed::new(size.get(), &keys.map_err(wrong)?).map_err(wrong)?;
                self.sort(&given.with_nan("sort", format, args.reverse)?, console)
            }
            (_, _, Some(klv)) => {
                args.refuse_text("--klv", true)?;
                self.sort(&klv, console)
            }
            _ if args.text.is_plain() => self.sort(&Lines::ended_by(args.text.terminator()), console),
            _ => {
                let Args { reverse, unique, stable, .. } = *args;
                self.sort(&args.text.order(Common { reverse, unique, stable })?, console)
            }
        }
    }

    /// Numbers as records, for what is not done with them in memory.
    pub(super) fn numbers(self, keys: KeyType, console: &mut Console) -> Run {
        let name = keys.name();
        // Pairs by their first part.
        let format = match name.split_once(':').filter(|_| self.args.stable) {
            Some((first, _)) => {
                let size = Fixed::numbers(&name).map_err(text::wrong)?.record_size().unwrap_or(0);
                format!("0:{first}").parse().and_then(|key: KeyRange| Fixed::new(size, &[key]))
            }
            None => Fixed::numbers(&name),
        };
        let format = self.args.kind.with_nan("sort", format.map_err(text::wrong)?, self.args.reverse)?;
        self.sort(&format, console)
    }

    /// Opens all inputs, and takes the header out of each. It is the same in all of them.
    fn open<F: Format>(&self, format: &F) -> Result<(Vec<Opened>, Vec<u8>), Failure> {
        let lines = self.args.text.header();
        let (mut opened, mut header) = (Vec::new(), None);
        for argument in self.args.sources.list("sort")? {
            let trouble = |error| Failure::Trouble(Message::from_io("sort", argument.place(), &error).to_string());
            let mut input = argument.open_scan().map_err(trouble)?;
            if lines > 0 {
                let found = match &mut input {
                    scan::Input::File(file) => take_first(format, file, lines),
                    scan::Input::Stream(reader) => take_first(format, reader, lines),
                    _ => Ok(Vec::new()),
                };
                let found = found.map_err(trouble)?;
                if header.get_or_insert_with(|| found.clone()) != &found {
                    let message = Message::new("sort", argument.place(), "its header is not that of the first file");
                    let cure = Some("sort files with the same header, or without --header");
                    return Err(Failure::Trouble(message.cure(cure).to_string()));
                }
            }
            opened.push((argument, input));
        }
        Ok((opened, header.unwrap_or_default()))
    }

    fn check_order<F: Format>(&self, format: &F, how: Checking, console: &mut Console) -> Run {
        let args = self.args;
        let (mut inputs, header) = self.open(format)?;
        let (Some((input, opened)), true) = (inputs.pop(), inputs.is_empty()) else {
            let message = Message::new("sort", "--check", "one file at a time can be looked at");
            return Err(Failure::Trouble(message.cure(Some("name one")).to_string()));
        };
        let trouble = |error: &io::Error| Failure::Trouble(Message::from_io("sort", input.place(), error).to_string());
        if !args.no_progress && !input.is_typed() {
            console.watch(Progress::new("check", input.size().ok().flatten()));
        }
        let gauge = console.gauge();
        let show = |done| {
            gauge.advance(done);
            ControlFlow::Continue(())
        };
        let checker = Checker::new(format).descending(args.reverse).unique(args.unique).progress(&show);
        let found = checker.threads(args.threads().get()).input(opened).map_err(|error| trouble(&error.into()))?;
        let before = (args.text.header() as u64, header.len() as u64);
        let disorder = found.first_unordered.map(|place| (before.0 + place.record, before.1 + place.offset));
        if args.json {
            console.print_json(&RecordCheck::new(&input, disorder))?;
        } else if let (Some((record, offset)), Checking::DiagnoseFirst) = (disorder, how) {
            // Lines are counted from 1, as in all tools.
            let why = match format.terminator() {
                Some(_) => format!("disorder at line {} (byte {offset})", record + 1),
                None => format!("disorder at record {record} (byte {offset})"),
            };
            console.remark(&Message::new("sort", input.place(), why).to_string());
        }
        Ok(if disorder.is_some() { Exit::No } else { Exit::Yes })
    }

    fn sort<F: Format>(&self, format: &F, console: &mut Console) -> Run {
        let args = self.args;
        if let Some(how) = args.gnu.check() {
            return self.check_order(format, how, console);
        }
        let target = args.target();
        target.check_json("sort", "records", args.json, "name a file with -o")?;
        if args.compress.is_output() {
            target.check_terminal("sort", "compressed records", "name a file with -o, or pipe it")?;
        }
        let (inputs, header) = self.open(format)?;
        let mut inputs: Vec<_> =
            inputs.into_iter().map(|(argument, input)| Input::new(argument.place(), input)).collect();
        if args.index {
            target.check_terminal("sort", "index entries", "name a file with -o")?;
            if inputs.len() != 1 {
                return Err(text::wrong(format!("--index takes one FILE, not {}", inputs.len())));
            }
        }
        if !args.no_progress {
            console.watch(Progress::new("sort", None));
        }
        let gauge = console.gauge();
        let show = |sorted: Sorted| {
            gauge.follow(sorted.phase, sorted.total);
            gauge.advance(sorted.done);
            ControlFlow::Continue(())
        };
        let mut sorter = FileSorter::new().threads(args.threads().get()).descending(args.reverse).unique(args.unique);
        if let Some(memory) = args.memory() {
            sorter = sorter.memory(memory);
        }
        sorter = sorter.header(&header);
        if let Some(head) = args.head {
            sorter = sorter.head(head as u64);
        }
        sorter = sorter.plan(args.plan).concurrency(args.concurrency);
        let emulated = args.emulate.clone().map(Emulated::new);
        if let Some(device) = &emulated {
            sorter = sorter.emulate(device);
        }
        for directory in &args.temp {
            sorter = sorter.temporary(directory);
        }
        sorter = args.compress.apply(sorter.verify(args.verify));
        let output = target.open().map_err(|error| target.failure("sort", &error))?;
        let direct = output.is_direct();
        let sorter = sorter.progress(&show);
        let report = if args.index {
            let input = inputs.pop().ok_or_else(|| text::wrong("--index takes one FILE".to_owned()))?;
            sorter.index(format, input, output, target.place())
        } else if args.gnu.merge() {
            sorter.merge(format, inputs, output, target.place())
        } else {
            sorter.sort(format, inputs, output, target.place())
        };
        let report = report.map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
            _ => Failure::Trouble(message::of_file(&error)),
        })?;
        let outcome = Outcome::new(&report, &target, args.threads().get());
        if args.explain {
            console.remark(&outcome.explain());
        }
        if args.json {
            console.print_json(&outcome)?;
        }
        Ok(Exit::Yes)
    }
}
