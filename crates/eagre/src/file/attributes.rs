//! Extended attributes of a file, to be copied to another file: the user's own (`user.*`), labels and capabilities
//! (`security.*`), and whatever else the file system lists.
//!
//! Permission to set an attribute depends on its name and on the file system. So each one is tried, and those that were
//! refused are reported. The access control list is an extended attribute too, but goes together with the mode: see
//! [`super::rights`].

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, XattrFlags};
use rustix::io::Errno;

use super::rights::ACL;

/// An extended attribute that could not be copied to a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unkept {
    /// Its name.
    pub name: OsString,
    pub(super) why: Errno,
}

impl Unkept {
    /// Why it could not be copied.
    #[must_use]
    pub fn error(&self) -> io::Error {
        self.why.into()
    }
}

/// The file whose attributes are read or set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bearer<'a> {
    Open(&'a File),
    /// The file at this path. A symbolic link is not followed.
    Named(&'a Path),
}

/// The attributes of a file, and which of them could not be read.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    values: Vec<(OsString, Vec<u8>)>,
    unread: Vec<(OsString, Errno)>,
}

/// The kernel's limit for the length of a value, and of the list of names.
const LONGEST: usize = 64 << 10;

impl Attributes {
    pub(crate) fn of(bearer: Bearer) -> Attributes {
        let mut found = Attributes::default();
        // The most frequent answer by far is that there are no attributes, or that the file system has none. It needs
        // no buffer.
        if !bearer.list(&mut []).is_ok_and(|length| length > 0) {
            return found;
        }
        let (mut names, mut value) = (vec![0; LONGEST], vec![0; LONGEST]);
        let length = bearer.list(&mut names).unwrap_or(0);
        for name in names[..length].split_inclusive(|&byte| byte == 0) {
            let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
            let name = OsStr::from_bytes(name.to_bytes());
            if name == ACL {
                continue;
            }
            match bearer.get(name, &mut value) {
                Ok(length) => found.values.push((name.to_owned(), value[..length].to_vec())),
                // Removed meanwhile.
                Err(Errno::NODATA) => {}
                Err(error) => found.unread.push((name.to_owned(), error)),
            }
        }
        found
    }

    /// Without the attributes that describe the contents, for a file whose contents will differ. These are the ones
    /// that the kernel removes from a file that is written.
    pub(crate) fn for_other_contents(mut self) -> Attributes {
        const ABOUT_CONTENTS: [&str; 3] = ["security.capability", "security.ima", "security.evm"];
        self.values.retain(|(name, _)| !ABOUT_CONTENTS.iter().any(|about| name == about));
        self
    }

    /// Sets the attributes on a file as far as that is permitted. Returns those that could not be set.
    pub(crate) fn give_to(&self, bearer: Bearer) -> Vec<Unkept> {
        let unkept = |name: &OsString, why: Errno| Unkept { name: name.clone(), why };
        let mut all: Vec<_> = self.unread.iter().map(|(name, error)| unkept(name, *error)).collect();
        for (name, value) in &self.values {
            let Err(error) = bearer.set(name, value) else { continue };
            // The file may have it already, such as a label that every file of the directory gets.
            let mut there = vec![0; value.len() + 1];
            let has_it = bearer.get(name, &mut there).is_ok_and(|length| there[..length] == value[..]);
            if !has_it {
                all.push(unkept(name, error));
            }
        }
        all
    }
}

impl Bearer<'_> {
    fn list(self, names: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            Bearer::Open(file) if names.is_empty() => fs::flistxattr_query(file),
            Bearer::Named(path) if names.is_empty() => fs::llistxattr_query(path),
            Bearer::Open(file) => fs::flistxattr(file, names),
            Bearer::Named(path) => fs::llistxattr(path, names),
        }
    }

    fn get(self, name: &OsStr, value: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            Bearer::Open(file) => fs::fgetxattr(file, name, value),
            Bearer::Named(path) => fs::lgetxattr(path, name, value),
        }
    }

    fn set(self, name: &OsStr, value: &[u8]) -> rustix::io::Result<()> {
        match self {
            Bearer::Open(file) => fs::fsetxattr(file, name, value, XattrFlags::empty()),
            Bearer::Named(path) => fs::lsetxattr(path, name, value, XattrFlags::empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_carried_over_and_what_is_refused_is_told() {
        let from = tempfile::tempfile().unwrap();
        if let Err(error) = fs::fsetxattr(&from, "user.note", b"\0bytes\xff", XattrFlags::empty()) {
            eprintln!("skipped: no extended attributes here: {error}");
            return;
        }
        fs::fsetxattr(&from, "user.empty", b"", XattrFlags::empty()).unwrap();
        let attributes = Attributes::of(Bearer::Open(&from));
        let to = tempfile::tempfile().unwrap();
        assert!(attributes.give_to(Bearer::Open(&to)).is_empty());
        let mut value = [0; 16];
        assert_eq!(fs::fgetxattr(&to, "user.note", &mut value[..]), Ok(7));
        assert_eq!(&value[..7], b"\0bytes\xff");
        assert_eq!(fs::fgetxattr(&to, "user.empty", &mut value[..]), Ok(0));

        // Files of `/proc` have no attributes and accept none.
        let refusing = File::open("/proc/version").unwrap();
        let mut names: Vec<_> = attributes.give_to(Bearer::Open(&refusing)).into_iter().map(|lost| lost.name).collect();
        names.sort();
        assert_eq!(names, ["user.empty", "user.note"]);
    }
}
