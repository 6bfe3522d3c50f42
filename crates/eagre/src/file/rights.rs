//! Who may do what with a file, for another that takes its place: owner, mode, and access control list (POSIX ACL). The other
//! extended attributes come along, for some of them depend on the order: the kernel takes a file's capabilities away when
//! it gets another owner, and only the owner of a file that he may write can set notes on it.
//!
//! Of a file with an access control list the group's bits of the mode are not what the group may do, but the most that the
//! list gives to anybody but the owner and the others. The mode without the list would give that to the group: they go
//! together.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{self, Gid, Uid, XattrFlags};
use rustix::io::Errno;

use super::attributes::{Attributes, Bearer, Unkept};

/// The extended attribute that is the list.
pub(super) const ACL: &str = "system.posix_acl_access";

/// The group's bits of a mode.
const GROUP: u32 = 0o070;

/// Who may do what with a file.
#[derive(Debug)]
pub(crate) struct Rights {
    metadata: Metadata,
    acl: Option<Vec<u8>>,
    attributes: Attributes,
}

/// What a file got of the rights of another.
#[derive(Debug)]
pub(crate) struct Given {
    /// The mode it may have now.
    pub(crate) mode: u32,
    /// The attributes it has not got.
    pub(crate) unkept: Vec<Unkept>,
}

impl Rights {
    /// Those of a file that is there, for one with the same contents.
    pub(crate) fn of(file: &File) -> io::Result<Rights> {
        let acl = read_acl(|buffer| fs::fgetxattr(file, ACL, buffer));
        Ok(Rights { metadata: file.metadata()?, acl, attributes: Attributes::of(Bearer::Open(file)) })
    }

    /// Those of the file at `path`, which `metadata` is about, for one with other contents.
    pub(super) fn of_replaced(path: &Path, metadata: Metadata) -> Rights {
        let acl = read_acl(|buffer| fs::getxattr(path, ACL, buffer));
        let attributes = Attributes::of(Bearer::Named(path)).for_other_contents();
        Rights { metadata, acl, attributes }
    }

    /// Gives a file the owner, the attributes and the list, as far as that is permitted.
    pub(crate) fn give_to(&self, file: &File) -> io::Result<Given> {
        let now = file.metadata()?;
        let (user, group) = (self.metadata.uid(), self.metadata.gid());
        let group_kept = group == now.gid() || fs::fchown(file, None, Some(Gid::from_raw(group))).is_ok();
        let user_kept = user == now.uid() || fs::fchown(file, Some(Uid::from_raw(user)), None).is_ok();
        let mut unkept = self.give_attributes_to(file);
        // With another owner, bits that lend the owner's rights would lend the wrong ones.
        let lent = if user_kept && group_kept { 0o7777 } else { 0o777 };
        let kept = match self.give_acl(file) {
            Ok(()) => lent,
            Err(why) => {
                if self.acl.is_some() {
                    unkept.push(Unkept { name: OsString::from(ACL), why });
                }
                lent & !GROUP
            }
        };
        Ok(Given { mode: self.metadata.mode() & kept, unkept })
    }

    /// Gives a file the attributes alone.
    pub(super) fn give_attributes_to(&self, file: &File) -> Vec<Unkept> {
        self.attributes.give_to(Bearer::Open(file))
    }

    fn give_acl(&self, file: &File) -> rustix::io::Result<()> {
        if let Some(acl) = &self.acl {
            return fs::fsetxattr(file, ACL, acl, XattrFlags::empty());
        }
        // The directory may have given the new file one.
        match fs::fremovexattr(file, ACL) {
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }
}

#[cfg(test)]
impl Rights {
    /// Those of a file with such a list.
    pub(super) fn with_acl(metadata: Metadata, acl: &[u8]) -> Rights {
        Rights { metadata, acl: Some(acl.to_vec()), attributes: Attributes::default() }
    }
}

fn read_acl(read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> Option<Vec<u8>> {
    const LONGEST: usize = 64 << 10;
    let mut acl = vec![0; LONGEST];
    let length = read(&mut acl).ok()?;
    acl.truncate(length);
    Some(acl)
}
