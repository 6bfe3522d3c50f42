//! Sorting files of numbers of any size.

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;

use eagre::external::{FileSorter, Progress as Sorted};
use eagre::keys::{self, FileKey, Order};

use super::gnu::Checking;
use super::report::{self, Check, Report};
use super::{Args, text};
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::keys::{KeyFiles, KeyType, why_unread, with_key};
use crate::message::{self, Message};
use crate::progress::Progress;
use crate::target::Target;

/// The numbers of files, and what to do with them.
pub(super) struct Numbers<'a> {
    pub(super) args: &'a Args,
    pub(super) keys: KeyType,
}

impl Numbers<'_> {
    pub(super) fn run(self, console: &mut Console) -> Run {
        let args = self.args;
        if args.stable && !self.keys.is_pair() {
            let message = Message::new("sort", "--stable", format!("keys of {} have no parts", self.keys.name()));
            return Err(Failure::Trouble(message.cure(Some("use it with pairs, such as --keys u64:u64")).to_string()));
        }
        if !matches!(self.keys, KeyType::F32 | KeyType::F64) {
            args.kind.refuse_nan("sort")?;
        }
        let files = KeyFiles::look("sort", args.sources.list("sort")?, self.keys)?;
        if args.gnu.merge() {
            return Err(text::wrong("-m cannot be used with --keys".to_owned()));
        }
        if let Some(how) = args.gnu.check() {
            return with_key!(self.keys, K => self.check_order::<K>(&files, how, console));
        }
        let target = args.target();
        target.check_json("sort", "keys", args.json, "name a file with -o")?;
        target.check_terminal("sort", "the keys", "name a file with -o, or pipe it")?;
        with_key!(self.keys, K => self.sort::<K>(&files, &target, console))
    }

    fn order(&self) -> Order {
        let mut order = Order::default();
        (order.reverse, order.strict, order.by_first) = (self.args.reverse, self.args.unique, self.args.stable);
        order.nan_last = self.args.kind.nan_last;
        order
    }

    fn check_order<K: FileKey>(&self, files: &KeyFiles, how: Checking, console: &mut Console) -> Run {
        let (input, mut reader) = files.open_one()?;
        self.watch("check", files, files.bytes, console);
        let found = keys::check::<K>(&mut reader, self.order(), |done| console.advance(done))
            .map_err(|error| why_unread("sort", input, error))?;
        if self.args.json {
            console.print_json(&Check::new(input, found))?;
        } else if let (Some(found), Checking::DiagnoseFirst) = (&found, how) {
            console.remark(&report::disorder(input, found));
        }
        Ok(if found.is_some() { Exit::No } else { Exit::Yes })
    }

    fn sort<K: FileKey>(&self, files: &KeyFiles, target: &Target, console: &mut Console) -> Run {
        let args = self.args;
        let inputs = files.inputs()?;
        self.watch("read", files, files.bytes, console);
        let gauge = console.gauge();
        let show = |done: Sorted| {
            gauge.follow(done.phase, done.total);
            gauge.advance(done.done);
            ControlFlow::Continue(())
        };
        let mut sorter = FileSorter::new().threads(args.threads().get()).descending(args.reverse).unique(args.unique);
        sorter =
            sorter.by_first(args.stable).nan_last(args.kind.nan_last).plan(args.plan).concurrency(args.concurrency);
        if let Some(memory) = args.memory() {
            sorter = sorter.memory(memory);
        }
        if let Some(slack) = args.slack {
            sorter = sorter.slack(slack);
        }
        if let Some(head) = args.head {
            sorter = sorter.head(head as u64);
        }
        for directory in &args.temp {
            sorter = sorter.temporary(directory);
        }
        sorter = args.compress.apply(sorter.verify(args.verify));
        let sorter = sorter.progress(&show);

        let direct = Cell::new(false);
        let mut unopened = None;
        let open = || {
            let output = target.open()?;
            direct.set(output.is_direct());
            Ok(output)
        };
        let sorted = if target.is_indirect() && files.hold(target) {
            // It may be cut to nothing when it is opened. When all has been read that does not matter.
            let late = || {
                open().map_err(|error: io::Error| {
                    let kind = error.kind();
                    unopened = Some(target.failure("sort", &error));
                    kind.into()
                })
            };
            sorter.sort_keys_then::<K>(inputs, late, target.place())
        } else {
            // Before the work, in case it cannot be written.
            let output = open().map_err(|error| target.failure("sort", &error))?;
            sorter.sort_keys::<K>(inputs, output, target.place())
        };
        let sorted = match (sorted, unopened) {
            (Ok(sorted), _) => sorted,
            (Err(_), Some(unopened)) => return Err(unopened),
            (Err(error), None) if error.kind() == io::ErrorKind::BrokenPipe && direct.get() => {
                return Err(Failure::Unheard);
            }
            (Err(error), None) => return Err(Failure::Trouble(message::of_file(&error))),
        };
        let report = Report::new(self.keys, target, args.threads().get(), &sorted);
        if args.explain {
            console.remark(&report.to_string());
        }
        if args.json {
            console.print_json(&report)?;
        }
        Ok(Exit::Yes)
    }

    fn watch(&self, what: &'static str, files: &KeyFiles, total: Option<u64>, console: &mut Console) {
        if !self.args.no_progress && !files.is_typed() {
            console.watch(Progress::new(what, total));
        }
    }
}
