//! Which of libfabric's ways to another end.
#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;

/// A provider of libfabric's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// Plain sockets: works everywhere, and needs no card.
    Tcp,
    /// Cards for InfiniBand, RoCE and iWARP.
    Verbs,
    /// Processes of one machine, and one user.
    Shm,
}

impl Provider {
    /// All of them.
    pub const ALL: [Provider; 3] = [Provider::Tcp, Provider::Verbs, Provider::Shm];

    /// Its name in libfabric.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Tcp => "tcp",
            Provider::Verbs => "verbs",
            Provider::Shm => "shm",
        }
    }

    /// Whether its ends connect; those that do not know each other by name.
    pub(crate) fn connects(self) -> bool {
        self != Provider::Shm
    }

    pub(crate) fn of_number(number: u8) -> Option<Provider> {
        Provider::ALL.into_iter().find(|provider| *provider as u8 == number)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Provider {
    type Err = String;
    fn from_str(text: &str) -> Result<Provider, String> {
        let found = Provider::ALL.into_iter().find(|provider| provider.name() == text);
        found.ok_or_else(|| format!("{text}: no provider that is used here; use tcp, verbs or shm"))
    }
}
