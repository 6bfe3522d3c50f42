//! The rights of a file, for another that takes its place: owner, mode and access control list (POSIX ACL). The other
//! extended attributes are handled here too, because some depend on the order. The kernel removes a file's capabilities
//! when its owner changes, and only an owner with write permission can set user attributes.
//!
//! If a file has an access control list, the group bits of its mode are not the rights of the group. They are the mask:
//! the most that the list grants to anyone but the owner and others. Copying the mode without the list would grant that
//! to the group, so they are copied together.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{self, Gid, Uid, XattrFlags};
use rustix::io::Errno;

use super::attributes::{Attributes, Bearer, Unkept};

/// The extended attribute that holds the list.
pub(super) const ACL: &str = "system.posix_acl_access";

/// The group bits of a mode.
const GROUP: u32 = 0o070;

/// Owner, mode, access control list and extended attributes of a file.
#[derive(Debug)]
pub(crate) struct Rights {
    metadata: Metadata,
    acl: Option<Vec<u8>>,
    attributes: Attributes,
}

/// What another file got of these rights.
#[derive(Debug)]
pub(crate) struct Given {
    /// The mode that it may get now.
    pub(crate) mode: u32,
    /// The attributes that could not be set.
    pub(crate) unkept: Vec<Unkept>,
}

impl Rights {
    /// The rights of `file`, for a copy with the same contents.
    pub(crate) fn of(file: &File) -> io::Result<Rights> {
        let acl = read_acl(|buffer| fs::fgetxattr(file, ACL, buffer));
        Ok(Rights { metadata: file.metadata()?, acl, attributes: Attributes::of(Bearer::Open(file)) })
    }

    /// The rights of the file at `path`, with its `metadata`, for a file with other contents.
    pub(super) fn of_replaced(path: &Path, metadata: Metadata) -> Rights {
        let acl = read_acl(|buffer| fs::getxattr(path, ACL, buffer));
        let attributes = Attributes::of(Bearer::Named(path)).for_other_contents();
        Rights { metadata, acl, attributes }
    }

    /// Sets the owner, the attributes and the list of a file as far as that is permitted.
    pub(crate) fn give_to(&self, file: &File) -> io::Result<Given> {
        let now = file.metadata()?;
        let (user, group) = (self.metadata.uid(), self.metadata.gid());
        let group_kept = group == now.gid() || fs::fchown(file, None, Some(Gid::from_raw(group))).is_ok();
        let user_kept = user == now.uid() || fs::fchown(file, Some(Uid::from_raw(user)), None).is_ok();
        let mut unkept = self.give_attributes_to(file);
        // If the owner or group differs, the set-user-ID and set-group-ID bits would lend the rights of the wrong one.
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

    /// Sets the attributes only.
    pub(super) fn give_attributes_to(&self, file: &File) -> Vec<Unkept> {
        self.attributes.give_to(Bearer::Open(file))
    }

    fn give_acl(&self, file: &File) -> rustix::io::Result<()> {
        if let Some(acl) = &self.acl {
            return fs::fsetxattr(file, ACL, acl, XattrFlags::empty());
        }
        // The directory may have given the new file a default list.
        match fs::fremovexattr(file, ACL) {
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }
}

#[cfg(test)]
impl Rights {
    /// The rights of a file with this list.
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
