//! Streams on this machine: the pairs of trap and mover, each tested with real page faults, and the stream that a
//! program gets by default.

use eagre_mem::options::{SETTINGS, Setting};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{OpenError, Pipe};
use eagre_mem::{Mover, Trap};

use super::fact::{Fact, Group, Value};

/// If a stream's address range is smaller than this, the doctor reports it. The default is 1 TiB.
const ROOMY: u64 = 1 << 39;

/// An environment variable that Eagre reads, and its value in this process.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SettingValue {
    /// Its name, its possible values, and its effect.
    pub setting: &'static Setting,
    /// Whether it is set and not empty.
    pub set: bool,
}

impl SettingValue {
    /// The value in the environment, if it is valid text.
    #[must_use]
    pub fn value(&self) -> Option<String> {
        let value = std::env::var_os(self.setting.name)?;
        self.set.then(|| value.to_string_lossy().into_owned())
    }
}

/// All environment variables that Eagre reads.
pub(super) fn settings() -> Vec<SettingValue> {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    SETTINGS.iter().map(|setting| SettingValue { setting, set: set(setting.name) }).collect()
}

/// What happens when a system call gets a stream pointer of this pair.
#[must_use]
pub fn system_calls(pair: Pair) -> &'static str {
    match (pair.trap, pair.mover) {
        (Trap::Pager, _) => "system calls such as read(2) work on its pointers",
        (Trap::Signal, _) => "system calls on its pointers give EFAULT",
        (Trap::Off, Mover::Copy) => "no pointers, explicit calls only",
        _ => "",
    }
}

/// The properties of a default stream.
pub(super) fn facts(opened: &Result<Opened, OpenError>) -> Vec<Fact> {
    let kind = |value: Value| Fact::new(Group::Streams, "streams.default", "by default", value);
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let (why, cure) = refusal(error);
            return vec![kind("none".into()).missing(why).cure(cure)];
        }
    };
    let capacity = Fact::new(Group::Streams, "streams.capacity", "longest stream", Value::Bytes(opened.capacity));
    let capacity = match opened.pair.trap {
        Trap::Off => capacity,
        _ if opened.capacity < ROOMY => capacity
            .limited("the system refuses a larger range of addresses")
            .cure("ulimit -v unlimited; with overcommit never (2), see memory"),
        _ => capacity,
    };
    vec![kind(opened.pair.to_string().into()), capacity]
}

/// The properties of the default stream that was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) pair: Pair,
    pub(super) capacity: u64,
}

impl Opened {
    /// Opens a default stream and drops it.
    pub(super) fn by_default() -> Result<Opened, OpenError> {
        let pipe = Pipe::builder().name("doctor").open()?;
        let pair = Pair { trap: pipe.trap(), mover: pipe.mover() };
        Ok(Opened { pair, capacity: pipe.capacity() })
    }
}

/// Why no stream can be opened, and the cure.
fn refusal(error: &OpenError) -> (String, String) {
    let parts = |text: &str, cure: &str| match text.split_once("; ") {
        Some((why, cure)) => (why.to_owned(), cure.to_owned()),
        None => (text.to_owned(), cure.to_owned()),
    };
    match error {
        OpenError::Setting(text) => (text.clone(), "change or unset it".to_owned()),
        // The text lists the pairs and their reasons, and recommends `eagre doctor`, which is running already.
        OpenError::Unavailable(text) => {
            let why = text.split("; `eagre doctor`").next().unwrap_or(text);
            (why.to_owned(), "unset EAGRE_TRAP and EAGRE_MOVER, or choose a pair that is ok".to_owned())
        }
        OpenError::Resources(text) => parts(text, "see the limits below"),
        _ => parts(&error.to_string(), "see what is not ok below"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::*;
    use eagre_mem::probe::PAIRS;

    #[test]
    fn a_default_stream_opens_and_is_the_selected_pair() {
        let opened = Opened::by_default().expect("off + copy works anywhere");
        let selected: Vec<_> = eagre_mem::probe::examine().into_iter().filter(|status| status.selected).collect();
        assert_eq!(selected.len(), 1);
        assert_eq!(selected[0].pair, opened.pair);
        assert_eq!(selected[0].refusal, None);
    }

    #[test]
    fn every_pair_says_what_system_calls_do() {
        for pair in PAIRS {
            assert!(!system_calls(pair).is_empty(), "{pair}");
        }
    }

    #[test]
    fn refusals_have_reasons_and_cures() {
        let text = "pager + move: no permission; `eagre doctor` tells the cure".to_owned();
        let facts = facts(&Err(OpenError::Unavailable(text)));
        assert_eq!(facts[0].verdict, Verdict::Missing);
        assert_eq!(facts[0].why.as_deref(), Some("pager + move: no permission"));
        assert!(facts[0].cure.is_some());
        let (why, cure) = refusal(&OpenError::Resources("no address space; raise `ulimit -v`".to_owned()));
        assert_eq!((why.as_str(), cure.as_str()), ("no address space", "raise `ulimit -v`"));
    }

    #[test]
    fn little_room_is_said_only_of_pointers() {
        let opened = |trap, mover| facts(&Ok(Opened { pair: Pair { trap, mover }, capacity: 1 << 30 }));
        assert_eq!(opened(Trap::Signal, Mover::Remap)[1].verdict, Verdict::Limited);
        assert_eq!(opened(Trap::Off, Mover::Copy)[1].verdict, Verdict::Ok);
    }
}
