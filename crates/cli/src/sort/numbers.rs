//! Sorting files of numbers in memory.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use eagre::RewiredVec;
use eagre::file::WriteOptions;
use eagre::keys::{self, FileKey, Order};
use eagre::sort::{SortError, Sorter};

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
        files.check_memory(self.beside(files.bytes))?;
        with_key!(self.keys, K => self.sort::<K>(&files, &target, console))
    }

    fn order(&self) -> Order {
        let mut order = Order::default();
        (order.reverse, order.strict, order.by_first) = (self.args.reverse, self.args.unique, self.args.stable);
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
        let mut report = Report::new(self.keys, target, self.args.threads().get());

        let started = Instant::now();
        self.watch("read", files, files.bytes, console);
        let mut keys = files.read::<K>(0, console)?;
        report.has_read(&keys, started.elapsed());

        // Now that all is in memory it does not matter if it is one of the files; and before the work, in case it cannot
        // be written.
        let output = target.open().map_err(|error| target.failure("sort", &error))?;

        let started = Instant::now();
        self.watch("sort", files, Some(size_of_val(&keys[..]) as u64), console);
        let count = self.arrange(&mut keys, console).map_err(|error| unsorted(files, error))?;
        report.has_sorted(started.elapsed());

        let started = Instant::now();
        let keys = &keys[..count];
        let bytes = size_of_val(keys) as u64;
        self.watch("write", files, Some(bytes), console);
        let direct = output.is_direct();
        WriteOptions::new()
            .explicit()
            .length(bytes)
            .write(output, target.place())
            .and_then(|mut writer| {
                keys::write(keys, &mut writer, |done| console.advance(done))?;
                writer.finish()
            })
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
                _ => Failure::Trouble(message::of_file(&error)),
            })?;
        report.has_written(keys, started.elapsed());

        if self.args.explain {
            console.remark(&report.to_string());
        }
        if self.args.json {
            console.print_json(&report)?;
        }
        Ok(Exit::Yes)
    }

    /// Moves the keys to write to the front, in order, and returns how many there are.
    fn arrange<K: FileKey>(&self, keys: &mut RewiredVec<K>, console: &mut Console) -> Result<usize, SortError> {
        let console = Mutex::new(console);
        let show = |progress: eagre::sort::Progress| {
            let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
            console.advance(progress.done * K::WIDTH as u64);
            ControlFlow::Continue(())
        };
        let mut sorter = Sorter::new().threads(self.args.threads().get()).progress(&show);
        if let Some(slack) = self.args.slack {
            sorter = sorter.slack(usize::try_from(slack).unwrap_or(usize::MAX));
        }
        let few = self.args.head.filter(|&head| !self.args.unique && !self.args.stable && head < keys.len());
        match (few, self.args.stable) {
            (Some(few), _) if self.args.reverse => sorter.largest(keys, few)?,
            (Some(few), _) => sorter.smallest(keys, few)?,
            (None, true) => {
                // Reversed before and after, equal pairs keep their order.
                if self.args.reverse {
                    keys.reverse();
                }
                sorter.sort_by_first(keys)?;
            }
            (None, false) => sorter.sort(keys)?,
        }
        if self.args.reverse && few.is_none() {
            keys.reverse();
        }
        let count = if self.args.unique { keys::unique(keys, self.order()) } else { keys.len() };
        Ok(self.args.head.map_or(count, |head| head.min(count)))
    }

    /// The memory needed beside the keys: that of the sort (see [`Sorter::slack`]), and that of a stream.
    fn beside(&self, bytes: Option<u64>) -> u64 {
        let bytes = bytes.unwrap_or(0);
        let allowed = self.args.slack.unwrap_or((bytes / 8).max(64 << 20));
        let used = (self.args.threads().get() as u64).saturating_mul(11 << 20).saturating_add(bytes / 100);
        allowed.min(used).saturating_add(16 << 20)
    }

    fn watch(&self, what: &'static str, files: &KeyFiles, total: Option<u64>, console: &mut Console) {
        if !self.args.no_progress && !files.is_typed() {
            console.watch(Progress::new(what, total));
        }
    }
}

/// Why the keys were not sorted. Nothing has been written.
fn unsorted(files: &KeyFiles, error: SortError) -> Failure {
    let message = Message::new("sort", files.place(), error.to_string());
    Failure::Trouble(message.cure(Some("use --slack 0, which needs less memory but is slower")).to_string())
}
