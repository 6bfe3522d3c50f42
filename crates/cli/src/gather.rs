//! `eagre gather`: records in the order of an index.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::str::FromStr;

use eagre::external::{Gatherer, Progress as Gathered};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::message::{self, Message};
use crate::progress::Progress;
use crate::target::Target;

const LONG: &str = "\
Write the records of a file in the order of an index.

An INDEX is made by 'eagre sort --index': it has the sorted keys of DATA, and where each record is. DATA must be as it was \
then: its size and the time of its last change are compared.

OUT appears under its name when all of it is on the disk. It never appears if anything fails or the command is \
killed.";

const AFTER: &str = "\
Examples:
  eagre sort --index --gensort b.dat -o b.idx       index a file
  eagre gather b.idx b.dat -o sorted.dat            all records, in order
  eagre gather b.idx b.dat --range 1000..1100       a hundred of them, to a pipe
  eagre gather b.idx b.dat --range ..10             the first ten
  eagre gather b.idx copy.dat --copied -o sorted    from a copy of the file

Exit status: 0 on success, 2 on error.";

/// Write records in the order of an index
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// The index, a regular file
    #[arg(value_name = "INDEX", value_hint = clap::ValueHint::FilePath)]
    index: OsString,

    /// The file that was indexed
    #[arg(value_name = "DATA", value_hint = clap::ValueHint::FilePath)]
    data: OsString,

    /// Write the records to OUT, complete or not at all [default: standard output]
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::AnyPath)]
    output: Option<OsString>,

    /// Only the records from rank A on and before rank B; the first has rank 0. A or B may be missing
    #[arg(long, value_name = "A..B")]
    range: Option<Ranks>,

    /// DATA may be a copy of the file that was indexed: do not compare the time of its last change
    #[arg(long)]
    copied: bool,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if the command takes long)
    #[arg(long)]
    no_progress: bool,
}

/// Ranks from one to another, which does not belong to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ranks(u64, Option<u64>);

impl FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> Result<Ranks, String> {
        let wrong = || "not a range such as 10..20, 10.. or ..20".to_owned();
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u64>().map_err(|_| wrong()),
            false => Err(wrong()),
        };
        let (start, end) = text.split_once("..").ok_or_else(wrong)?;
        let ranks = Ranks(
            if start.is_empty() { 0 } else { number(start)? },
            if end.is_empty() { None } else { Some(number(end)?) },
        );
        match ranks.1 {
            Some(end) if end < ranks.0 => Err("it ends before it begins".to_owned()),
            _ => Ok(ranks),
        }
    }
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let target = self.output.as_deref().map_or(Target::Stdout, Target::named);
        let files = [&self.index, &self.data].map(|file| Argument::of(file));
        let [index, data] = &files;
        if let Some(pipe) = files.iter().find(|file| file.is_stdin()) {
            let message = Message::new("gather", pipe.place(), "records and their index are read in any order");
            return Err(Failure::Trouble(message.cure(Some("name a file")).to_string()));
        }
        let open = |file: &Argument| {
            let opened = file.open();
            opened.map_err(|error| Failure::Trouble(Message::from_io("gather", file.place(), &error).to_string()))
        };
        let (of, from) = (open(index)?, open(data)?);
        if !self.no_progress {
            console.watch(Progress::new("gather", None));
        }
        let gauge = console.gauge();
        let show = |gathered: Gathered| {
            gauge.advance(gathered.done);
            ControlFlow::Continue(())
        };
        let Ranks(start, end) = self.range.unwrap_or(Ranks(0, None));
        let gatherer = Gatherer::new().threads(self.threads.map_or(0, NonZeroUsize::get)).range(start, end);
        let gatherer = gatherer.copied(self.copied).progress(&show);
        let output = target.open().map_err(|error| target.failure("gather", &error))?;
        let direct = output.is_direct();
        let gathered = gatherer.gather((&of, &index.place()), (&from, &data.place()), output, target.place());
        gathered.map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
            _ => Failure::Trouble(message::of_file(&error)),
        })?;
        Ok(Exit::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_be_open_on_either_side() {
        for (text, ranks) in
            [("1..2", Ranks(1, Some(2))), ("7..", Ranks(7, None)), ("..9", Ranks(0, Some(9))), ("..", Ranks(0, None))]
        {
            assert_eq!(text.parse(), Ok(ranks), "{text}");
        }
        for wrong in ["", "1", "1-2", "2..1", "a..b", "-1..2", "+1..2", "1..2..3", "1...3", "99999999999999999999.."] {
            wrong.parse::<Ranks>().expect_err(wrong);
        }
    }
}
