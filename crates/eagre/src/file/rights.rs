//! Who may do what with a file, for another that takes its place: owner, mode, and access control list (POSIX ACL).
//!
//! Of a file with such a list the group's bits of the mode are not what the group may do, but the most that the list gives
//! to anybody but the owner and the others. The mode without the list would give that to the group: they go together.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{self, Gid, Uid, XattrFlags};
use rustix::io::Errno;

/// The extended attribute that is the list.
pub(super) const ACL: &str = "system.posix_acl_access";

/// The group's bits of a mode.
const GROUP: u32 = 0o070;

/// Who may do what with a file.
#[derive(Debug)]
pub(super) struct Rights {
    metadata: Metadata,
    acl: Option<Vec<u8>>,
}

impl Rights {
    /// Those of the file that `metadata` is about. `read_acl` puts an extended attribute of it into a buffer and returns
    /// its length.
    pub(super) fn new(
        metadata: Metadata,
        read_acl: impl FnOnce(&str, &mut [u8]) -> rustix::io::Result<usize>,
    ) -> Rights {
        const LONGEST: usize = 64 << 10;
        let mut acl = vec![0; LONGEST];
        let acl = read_acl(ACL, &mut acl).ok().map(|length| {
            acl.truncate(length);
            acl
        });
        Rights { metadata, acl }
    }

    /// Gives a file the owner and the list, as far as that is permitted, and returns the mode it may have then.
    pub(super) fn give_to(&self, file: &File) -> io::Result<u32> {
        let now = file.metadata()?;
        let (user, group) = (self.metadata.uid(), self.metadata.gid());
        let group_kept = group == now.gid() || fs::fchown(file, None, Some(Gid::from_raw(group))).is_ok();
        let user_kept = user == now.uid() || fs::fchown(file, Some(Uid::from_raw(user)), None).is_ok();
        // With another owner, bits that lend the owner's rights would lend the wrong ones.
        let lent = if user_kept && group_kept { 0o7777 } else { 0o777 };
        let kept = if self.give_acl(file).is_ok() { lent } else { lent & !GROUP };
        Ok(self.metadata.mode() & kept)
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
