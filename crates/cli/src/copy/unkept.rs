//! Extended attributes that could not be copied: one message for all of them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;

use eagre::file::Unkept;

use crate::console::Console;
use crate::{message, name};

#[derive(Debug, Default)]
pub(super) struct Unkepts {
    files: u64,
    /// The names of the attributes, and the reason for the first file of each.
    why: BTreeMap<String, String>,
}

impl Unkepts {
    /// Adds the attributes that one file lacks.
    pub(super) fn add(&mut self, unkept: &[Unkept]) {
        self.files += u64::from(!unkept.is_empty());
        for one in unkept {
            let name = name::in_messages(one.name.as_bytes());
            self.why.entry(name).or_insert_with(|| message::reason(&one.error()));
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.why.keys().cloned().collect()
    }

    /// Prints the message if attributes were lost. It is not an error.
    pub(super) fn tell(&self, place: &str, console: &mut Console) {
        if self.files == 0 {
            return;
        }
        let of = if self.files == 1 { String::new() } else { format!(" of {} files", self.files) };
        let list: Vec<_> = self.why.iter().map(|(name, why)| format!("{name} ({why})")).collect();
        console.remark(&format!("eagre: copy: {place}: extended attributes{of} not kept: {}", list.join(", ")));
    }
}
