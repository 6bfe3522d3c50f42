//! The command lines of those who sort files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Order, baselines, python, stxxl};
use crate::catalogue::{Budget, Cache, Data, FileSort, Place, Sorter};
use crate::child::Ended;
use crate::contenders::Trouble;
use crate::contenders::compiler::cache;
use crate::contenders::file::program::{beside, line, on_path, version};
use crate::corpus::Store;
use crate::outcome::Identity;
use crate::timeline::{self, Span};

/// How to get the command.
const BUILD: &str = "cargo build --release -p eagre-cli";

/// A program that sorts files, and what it is to do.
pub(super) struct Program {
    sorter: Sorter,
    sort: FileSort,
    path: PathBuf,
    version: String,
}

impl Program {
    /// The program that is `sorter`, if it is here and can do it.
    pub(super) fn find(sorter: Sorter, sort: FileSort, store: &Store) -> Result<Program, Trouble> {
        let (path, version) = match sorter {
            // Of each record, a key with a pointer is in memory: 16 bytes.
            Sorter::Eagre(Some("one-pass")) if sort.budget == Budget::Quarter && sort.data.item() < 96 => {
                let text = "the keys of records this short do not fit into a quarter of their size";
                return Err(Trouble::Unavailable(text.into()));
            }
            Sorter::Eagre(_) | Sorter::EagreOnePass(_) => {
                let path = beside("eagre", BUILD)?;
                let known = version(&path);
                (path, known)
            }
            Sorter::Gnu => {
                let path = on_path("sort", "install coreutils")?;
                let known = version(&path);
                if !known.contains("GNU") {
                    return Err(Trouble::Unavailable(format!("sort is {known}; install GNU coreutils")));
                }
                (path, known)
            }
            Sorter::Stxxl => (stxxl::program(store)?, stxxl::version()),
            Sorter::Extsort => {
                let cure = "./dev setup installs it from crates/bench/peers/external/extsort";
                let path = cache().map(|cache| cache.join("bin/eagre-peer-extsort")).filter(|path| path.is_file());
                let path = path.ok_or_else(|| Trouble::Unavailable(format!("no eagre-peer-extsort; {cure}")))?;
                let known = version(&path);
                (path, known)
            }
            Sorter::Duckdb | Sorter::Polars => (PathBuf::new(), python::version(sorter)?),
            Sorter::Baseline(_) => (PathBuf::new(), format!("eagre-bench {}", env!("CARGO_PKG_VERSION"))),
            Sorter::TwoPasses => return Err(Trouble::Failed("catalogue: two passes are no program".into())),
        };
        let program = Program { sorter, sort, path, version };
        program.has_options()?;
        // Who cannot sort such data says so here.
        program.commands(&nothing())?;
        Ok(program)
    }

    /// Whether the `eagre` command, which may be older than this program, has all options it is to be called with.
    fn has_options(&self) -> Result<(), Trouble> {
        if !matches!(self.sorter, Sorter::Eagre(_) | Sorter::EagreOnePass(_)) {
            return Ok(());
        }
        let help = Command::new(&self.path).args(["sort", "--help"]).output();
        let help = help.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let known = |option: &str| {
            // Its name, and what may follow in a help text.
            ["\n", " ", ","].iter().any(|end| help.contains(&format!(" {option}{end}")))
        };
        let command = self.eagre(&nothing());
        let options = command.get_args().filter_map(|word| word.to_str()).filter(|word| word.starts_with('-'));
        let mut missing = options.filter(|option| !known(option));
        match missing.next() {
            Some(missing) => Err(Trouble::Unavailable(format!("this eagre sort has no {missing}; {BUILD}"))),
            None => Ok(()),
        }
    }

    /// The processes to run, one after the other.
    pub(super) fn commands(&self, order: &Order) -> Result<Vec<Command>, Trouble> {
        let FileSort { data, threads, .. } = self.sort;
        let mut command = Command::new(&self.path);
        // Whoever writes a log writes it there.
        command.current_dir(order.temporary);
        Ok(match self.sorter {
            Sorter::Eagre(_) | Sorter::EagreOnePass(_) => vec![self.eagre(order)],
            Sorter::Gnu => {
                command.env("LC_ALL", "C").arg("-S").arg(format!("{}b", order.memory));
                command.arg(format!("--parallel={threads}")).arg("-T").arg(order.temporary).args(keys(data));
                command.arg("-o").args([order.to, order.from]);
                let mut sync = Command::new("sync");
                sync.arg(order.to);
                vec![command, sync]
            }
            Sorter::Stxxl => {
                // Past the page cache where the file is not in it.
                let direct = self.sort.cache == Cache::Cold && self.sort.place == Place::Disk;
                command.arg(length(data)?).args([order.from, order.to]).arg(order.temporary.join("runs"));
                command.arg(order.memory.to_string()).arg(u8::from(direct).to_string());
                command.env("OMP_NUM_THREADS", threads.to_string());
                vec![command]
            }
            Sorter::Extsort => {
                command.arg(length(data)?).args([order.from, order.to, order.temporary]);
                command.args([order.memory.to_string(), threads.to_string()]);
                vec![command]
            }
            Sorter::Duckdb | Sorter::Polars => vec![python::command(self.sorter, threads, order)],
            Sorter::Baseline(baseline) => vec![baselines::command(baseline, &self.sort, order)?],
            Sorter::TwoPasses => vec![],
        })
    }

    fn eagre(&self, order: &Order) -> Command {
        let FileSort { data, threads, device, .. } = self.sort;
        let mut command = Command::new(&self.path);
        command.arg("sort");
        match data {
            Data::Records | Data::Ascii => command.arg("--gensort"),
            Data::Fixed { .. } => command.args(["--record", &data.item().to_string(), "--key", "0:10"]),
            Data::Words => command.args(["--keys", "u64"]),
            Data::Lines | Data::Table | Data::Few => command.arg("--lines").args(keys(data)),
        };
        command.args(["--memory", &order.memory.to_string(), "-j", &threads.to_string()]);
        match self.sorter {
            Sorter::Eagre(Some(plan)) => drop(command.args(["--plan", plan])),
            Sorter::EagreOnePass(model) => drop(command.args(["--plan", "one-pass", "--concurrency", model])),
            _ => {}
        }
        if let Some(device) = device {
            command.args(["--emulate", device.name()]);
        }
        if self.has_timeline() {
            command.arg("--json");
        }
        command.arg(order.from).arg("-o").arg(order.to);
        command
    }

    /// How long a process took: libraries used from Python look at the clock themselves.
    pub(super) fn time(&self, ended: &Ended) -> Result<Duration, Trouble> {
        match self.sorter {
            Sorter::Duckdb | Sorter::Polars => python::seconds(&ended.output),
            _ => Ok(ended.took),
        }
    }

    /// Whether it tells what it did at which time.
    fn has_timeline(&self) -> bool {
        let eagre = matches!(self.sorter, Sorter::Eagre(_) | Sorter::EagreOnePass(_));
        eagre && matches!(self.sort.data, Data::Records | Data::Fixed { .. })
    }

    /// What a process did at which time, if it told.
    pub(super) fn timeline(&self, ended: &Ended) -> Result<Vec<Span>, Trouble> {
        if self.has_timeline() { timeline::of_json(&ended.output) } else { Ok(Vec::new()) }
    }

    pub(super) fn identity(&self) -> Identity {
        let command = match self.sorter {
            // A script is not a line.
            Sorter::Duckdb | Sorter::Polars => Some(python::ABOUT.to_owned()),
            Sorter::Baseline(_) => None,
            _ => self.commands(&nothing()).ok().map(|all| all.iter().map(line).collect::<Vec<_>>().join("; ")),
        };
        Identity { version: Some(self.version.clone()), command }
    }
}

/// An order to be shown, or to be looked at.
fn nothing() -> Order<'static> {
    Order { from: Path::new("FILE"), to: Path::new("SORTED"), temporary: Path::new("DIR"), memory: 0 }
}

/// What `sort` is told about the order of lines, by both.
fn keys(data: Data) -> &'static [&'static str] {
    match data {
        Data::Table => &["-t", ",", "-k", "2,2n"],
        Data::Few => &["-u"],
        _ => &[],
    }
}

/// The length of a record, for programs that know two.
fn length(data: Data) -> Result<&'static str, Trouble> {
    match data {
        Data::Records | Data::Ascii => Ok("100"),
        Data::Words => Ok("8"),
        _ => Err(Trouble::Unavailable("it sorts no such records".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Budget, Emulated};

    fn line_of(sorter: Sorter, data: Data, device: Option<Emulated>) -> String {
        let sort = FileSort {
            data,
            place: Place::Disk,
            cache: Cache::Cold,
            budget: Budget::Quarter,
            threads: 2,
            background: None,
            device,
            long: false,
            rounds: 1,
        };
        let program = Program { sorter, sort, path: "/a/program".into(), version: String::new() };
        program.identity().command.unwrap_or_default()
    }

    #[test]
    fn everyone_is_told_the_same() {
        let eagre = Sorter::Eagre(None);
        let braid = Some(Emulated::Braid);
        for (sorter, data, device, line) in [
            (eagre, Data::Records, None, "program sort --gensort --memory 0 -j 2 --json FILE -o SORTED"),
            (eagre, Data::Words, None, "program sort --keys u64 --memory 0 -j 2 FILE -o SORTED"),
            (eagre, Data::Table, None, "program sort --lines -t , -k 2,2n --memory 0 -j 2 FILE -o SORTED"),
            (
                Sorter::Eagre(Some("classic")),
                Data::Fixed { value: 50 },
                braid,
                "program sort --record 60 --key 0:10 --memory 0 -j 2 --plan classic --emulate braid --json FILE -o SORTED",
            ),
            (
                Sorter::EagreOnePass("aware"),
                Data::Records,
                braid,
                "program sort --gensort --memory 0 -j 2 --plan one-pass --concurrency aware --emulate braid --json FILE -o SORTED",
            ),
            (Sorter::Gnu, Data::Few, None, "program -S 0b --parallel=2 -T DIR -u -o SORTED FILE; sync SORTED"),
            (Sorter::Stxxl, Data::Records, None, "program 100 FILE SORTED DIR/runs 0 1"),
            (Sorter::Extsort, Data::Words, None, "program 8 FILE SORTED DIR 0 2"),
        ] {
            assert_eq!(line_of(sorter, data, device), line);
        }
    }

    #[test]
    fn what_a_program_cannot_sort_is_said() {
        assert!(matches!(length(Data::Lines), Err(Trouble::Unavailable(_))));
    }
}
