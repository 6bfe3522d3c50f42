//! The command line of a test program that does without the standard harness, understood as that one understands it.
//!
//! Names choose the tests that contain them, all of them with `--exact`; `--skip NAME` leaves some out. What concerns the
//! harness only (`--nocapture`, `--test-threads=N`, …) is of no interest.

/// Which tests to run.
#[derive(Default)]
pub(crate) struct Arguments {
    wanted: Vec<String>,
    skipped: Vec<String>,
    exact: bool,
    /// Names are to be listed only.
    pub(crate) list: bool,
}

/// Options whose value may be an argument of its own.
const WITH_VALUE: [&str; 6] = ["--test-threads", "--format", "--color", "--logfile", "--shuffle-seed", "-Z"];

impl Arguments {
    /// Those of this program.
    pub(crate) fn of_this_program() -> Arguments {
        let mut all = Arguments::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => all.list = true,
                "--exact" => all.exact = true,
                "--skip" => all.skipped.push(arguments.next().expect("--skip: a name is missing")),
                with_value if WITH_VALUE.contains(&with_value) => drop(arguments.next()),
                option if option.starts_with('-') => {
                    all.skipped.extend(option.strip_prefix("--skip=").map(str::to_owned))
                }
                _ => all.wanted.push(argument),
            }
        }
        all
    }

    /// Whether to run the test of this name.
    pub(crate) fn want(&self, name: &str) -> bool {
        let meant = |part: &String| if self.exact { name == part } else { name.contains(part.as_str()) };
        (self.wanted.is_empty() || self.wanted.iter().any(meant)) && !self.skipped.iter().any(meant)
    }

    /// Ends the program if there is nothing to run: nobody asks for that on purpose.
    pub(crate) fn none_is_a_mistake(&self, tests: usize) {
        if tests == 0 && !self.list {
            eprintln!("no test is called so: wanted {:?}, skipped {:?}", self.wanted, self.skipped);
            std::process::exit(101);
        }
    }
}
