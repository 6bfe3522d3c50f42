//! Which device a directory is on, and what the system says about it without a measurement.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, fstatfs, fstatvfs, statx};
use rustix::io::Errno;

use crate::file::cache;

/// A file system, as its kernel tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The major number of the device.
    pub major: u32,
    /// The minor number of the device.
    pub minor: u32,
    /// The type of the file system, such as `ext4`; its magic number in hexadecimal if the mount table does not have it.
    pub filesystem: String,
    /// The size of the file system in bytes; 0 if it does not tell.
    pub bytes: u64,
    /// Whether its files live in memory (tmpfs).
    pub in_memory: bool,
    /// Whether its files are mapped without a page cache (DAX).
    pub dax: bool,
    /// What offsets and lengths of transfers past the page cache (`O_DIRECT`) must be multiples of, in bytes. `None` if
    /// there are none.
    pub direct: Option<u32>,
}

impl Identity {
    /// The file system of the directory `path`.
    ///
    /// # Errors
    /// Those of the system: there is no such directory, or it may not be opened.
    pub fn of(path: &Path) -> io::Result<Identity> {
        let directory = File::open(path)?;
        let there = directory.metadata()?;
        if !there.is_dir() {
            return Err(Errno::NOTDIR.into());
        }
        let (major, minor) = (rustix::fs::major(there.dev()), rustix::fs::minor(there.dev()));
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let filesystem = match mounted(&mounts, major, minor) {
            Some(name) => name.to_owned(),
            None => format!("{:x}", fstatfs(&directory)?.f_type),
        };
        let size = fstatvfs(&directory)?;
        Ok(Identity {
            major,
            minor,
            filesystem,
            bytes: size.f_blocks.saturating_mul(size.f_frsize),
            in_memory: cache::lives_in_memory(&directory),
            dax: false,
            direct: None,
        })
    }

    /// Adds what only a file of the file system tells.
    pub(super) fn look_at(&mut self, file: &File) {
        let said = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::empty());
        self.dax = said.is_ok_and(|said| said.stx_attributes.contains(StatxAttributes::DAX));
        self.direct = cache::alignment(file).and_then(|alignment| u32::try_from(alignment).ok());
    }

    /// Whether a single byte can be read without a block around it: the file is memory.
    #[must_use]
    pub fn is_byte_addressable(&self) -> bool {
        self.in_memory || self.dax
    }

    /// Whether both are the same file system.
    #[must_use]
    pub fn is_same_device(&self, other: &Identity) -> bool {
        let key = |of: &Identity| (of.major, of.minor, of.filesystem.clone());
        key(self) == key(other)
    }

    /// What a profile is filed under.
    pub(super) fn key(&self) -> String {
        let name: String = self.filesystem.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        format!("{}-{}-{name}-{}", self.major, self.minor, self.bytes)
    }
}

/// The type of the file system with these numbers, in the text of `/proc/self/mountinfo`.
fn mounted(mounts: &str, major: u32, minor: u32) -> Option<&str> {
    let device = format!("{major}:{minor}");
    mounts.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        (front.split(' ').nth(2)? == device).then(|| back.split(' ').next()).flatten()
    })
}

/// The release of the running kernel, such as `6.12.4`, in one word.
pub(super) fn kernel() -> String {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    release.split_whitespace().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_table_names_the_type() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n\
                      36 35 254:0 /root /mnt rw,noatime - ext4 /dev/vda rw\n";
        assert_eq!(mounted(mounts, 254, 0), Some("ext4"));
        assert_eq!(mounted(mounts, 0, 28), Some("cgroup2"));
        assert_eq!(mounted(mounts, 0, 2), None);
    }

    #[test]
    fn a_directory_has_a_device_and_a_file_is_no_directory() {
        let directory = tempfile::tempdir().unwrap();
        let identity = Identity::of(directory.path()).unwrap();
        assert!(identity.is_same_device(&Identity::of(directory.path()).unwrap()));
        let file = directory.path().join("file");
        std::fs::write(&file, b"").unwrap();
        assert_eq!(Identity::of(&file).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }
}
