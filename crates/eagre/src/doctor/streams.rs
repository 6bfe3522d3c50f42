//! What streams do here: the pairs of trap and mover, each tried with real faults, and what a stream gets that
//! asks for nothing in particular.

use eagre_mem::options::{SETTINGS, Setting};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{OpenError, Pipe};
use eagre_mem::{Mover, Trap};

use super::fact::{Fact, Group, Value};

/// Less room than this for a stream's addresses is worth a word: the default is 1 TiB.
const ROOMY: u64 = 1 << 39;

/// An environment variable that Eagre reads, and what it says in this process.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SettingValue {
    /// Its name, what it may be, and what it does.
    pub setting: &'static Setting,
    /// Its value is set, and not empty.
    pub set: bool,
}

impl SettingValue {
    /// The value in the environment, as far as it is text.
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

/// What a system call on a stream pointer of this pair does, in a few words.
#[must_use]
pub fn system_calls(pair: Pair) -> &'static str {
    match (pair.trap, pair.mover) {
        (Trap::Pager, _) => "system calls such as read(2) work on its pointers",
        (Trap::Signal, _) => "system calls on its pointers give EFAULT",
        (Trap::Off, Mover::Copy) => "no pointers, explicit calls only",
        _ => "",
    }
}

/// What a stream gets by default.
pub(super) fn facts(opened: &Result<Opened, OpenError>) -> Vec<Fact> {
    let kind = |value: Value| Fact::new(Group::Streams, "streams.default", "by default", value);
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let (why, cure) = refusal(error);
            return vec![kind("none".into()).missing(why).cure(cure)];
        }
    };
    let capacity = Fact::new(Group::Streams, "streams.capacity", "longest", Value::Bytes(opened.capacity));
    let capacity = match opened.pair.trap {
        Trap::Off => capacity,
        _ if opened.capacity < ROOMY => capacity
            .limited("no larger range of addresses was to be had")
            .cure("ulimit -v unlimited; with overcommit never (2), see memory"),
        _ => capacity,
    };
    vec![kind(opened.pair.to_string().into()), capacity]
}

/// What a stream got that asked for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) pair: Pair,
    pub(super) capacity: u64,
}

impl Opened {
    /// Opens such a stream, and drops it.
    pub(super) fn by_default() -> Result<Opened, OpenError> {
        let pipe = Pipe::builder().name("doctor").open()?;
        let pair = Pair { trap: pipe.trap(), mover: pipe.mover() };
        Ok(Opened { pair, capacity: pipe.capacity() })
    }
}

/// Why no stream opens, and what to do.
fn refusal(error: &OpenError) -> (String, String) {
    let parts = |text: &str, cure: &str| match text.split_once("; ") {
        Some((why, cure)) => (why.to_owned(), cure.to_owned()),
        None => (text.to_owned(), cure.to_owned()),
    };
    match error {
        OpenError::Setting(text) => (text.clone(), "change or unset it".to_owned()),
        // It lists pairs and their reasons, and advises to ask the doctor, which has been done.
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
