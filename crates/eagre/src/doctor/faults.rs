//! What this user may do with page faults (userfaultfd) and with asynchronous I/O (io_uring).
//!
//! Every user may use *user-mode* userfaultfd, which handles faults of the program but not faults inside system calls.
//! Privileged userfaultfd also makes `read(fd, stream_pointer, …)` work. There are three ways to get it: permission on
//! `/dev/userfaultfd` (Linux 6.1), `vm.unprivileged_userfaultfd=1`, or `CAP_SYS_PTRACE`. The first is recommended,
//! because it gives one ability to one group.

use std::fs::OpenOptions;
use std::io::ErrorKind;

use super::fact::{Fact, Group, Value};
use super::host::Host;

const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;

const DEVICE: &str = "/dev/userfaultfd";
const SYSCTL: &str = "/proc/sys/vm/unprivileged_userfaultfd";

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let device = Device::of(host);
    let open_to_all = host.number(SYSCTL);
    let capable = host.capable(CAP_SYS_PTRACE);
    vec![
        userfaultfd(device, open_to_all, capable == Some(true)),
        Fact::new(Group::Faults, "faults.device", DEVICE, device.text()),
        Fact::new(
            Group::Faults,
            "faults.sysctl",
            "vm.unprivileged_userfaultfd",
            open_to_all.map_or(Value::Unknown, Value::Count),
        ),
        Fact::new(Group::Faults, "faults.capability", "CAP_SYS_PTRACE", capable.map_or(Value::Unknown, Value::Flag)),
        seccomp(host),
        io_uring(host),
    ]
}

/// The device that provides privileged userfaultfd.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Device {
    Opens,
    Refused,
    Absent,
}

impl Device {
    /// Opening the device has no effect until something is requested of it.
    fn of(host: &Host) -> Self {
        let opened = OpenOptions::new().read(true).write(true).open(host.path(DEVICE));
        match opened {
            Ok(_) => Device::Opens,
            Err(error) if error.kind() == ErrorKind::NotFound => Device::Absent,
            Err(_) => Device::Refused,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Device::Opens => "opens",
            Device::Refused => "present, but this user may not open it",
            Device::Absent => "absent",
        }
    }
}

fn userfaultfd(device: Device, open_to_all: Option<u64>, capable: bool) -> Fact {
    let (text, privileged) = match (device, open_to_all, capable) {
        (Device::Opens, _, _) => ("privileged, through its device", true),
        (_, Some(1), _) => ("privileged, open to every user", true),
        (_, Some(_), true) => ("privileged, by capability", true),
        (_, Some(_), false) => ("user mode only", false),
        (_, None, _) => ("none", false),
    };
    let fact = Fact::new(Group::Faults, "faults.userfaultfd", "userfaultfd", text);
    if privileged {
        return fact;
    }
    if open_to_all.is_none() && device == Device::Absent {
        return fact
            .missing("the kernel does not have it, or the container hides it; blocks move by mremap")
            .cure("use a kernel with CONFIG_USERFAULTFD; in a container, --device /dev/userfaultfd");
    }
    let fact = fact.limited("system calls such as read(2) on a stream pointer give EFAULT; everything else works");
    match device {
        Device::Refused => fact.cure(
            "until the next boot: sudo setfacl -m u:$USER:rw /dev/userfaultfd; for good, in /etc/udev/rules.d/60-userfaultfd.rules: \
             KERNEL==\"userfaultfd\", SUBSYSTEM==\"misc\", GROUP=\"your-group\", MODE=\"0660\"",
        ),
        _ => fact.cure(
            "in a container, --device /dev/userfaultfd; on a kernel before 6.1, sudo sysctl vm.unprivileged_userfaultfd=1 (for every user)",
        ),
    }
}

/// Containers often filter system calls, and the usual filters include userfaultfd and io_uring.
fn seccomp(host: &Host) -> Fact {
    let mode = host.field("/proc/self/status", "Seccomp");
    let filtered = mode.as_deref() == Some("2");
    let text = match mode.as_deref() {
        Some("0") => "none",
        Some("2") => "on",
        Some(_) => "strict",
        None => "unknown",
    };
    let fact = Fact::new(Group::Faults, "faults.seccomp", "system call filter", text);
    if filtered {
        fact.limited("the filter may refuse userfaultfd and io_uring, whatever the other facts say")
            .cure("if a pair of trap and mover is missing: start the container with a seccomp profile that allows them")
    } else {
        fact
    }
}

fn io_uring(host: &Host) -> Fact {
    let mode = host.number("/proc/sys/kernel/io_uring_disabled");
    let text = match mode {
        Some(0) => "allowed",
        Some(1) => "for one group and administrators",
        Some(2) => "disabled",
        // The setting came with Linux 6.6. Older kernels allow io_uring to every user.
        _ => "allowed (this kernel has no setting)",
    };
    let fact = Fact::new(Group::Faults, "faults.io_uring", "io_uring", text);
    let refused = match mode {
        Some(0) | None => return fact,
        Some(1) if host.capable(CAP_SYS_ADMIN) == Some(true) || in_io_uring_group(host) => {
            return fact;
        }
        Some(1) => "this user is not in the group",
        Some(_) => "nobody may use it",
    };
    fact.limited(format!("{refused}; files are read and written by plain calls, which is slower"))
        .cure("sudo sysctl kernel.io_uring_disabled=0")
}

/// Whether this user is in the group that `kernel.io_uring_group` names (-1 means no group).
fn in_io_uring_group(host: &Host) -> bool {
    let Some(group) = host.number("/proc/sys/kernel/io_uring_group") else {
        return false;
    };
    let ours = ["Gid", "Groups"].map(|key| host.field("/proc/self/status", key).unwrap_or_default()).join(" ");
    ours.split_whitespace().any(|id| id.parse() == Ok(group))
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn each_way_to_userfaultfd_is_known() {
        use Device::{Absent, Opens, Refused};
        for (device, sysctl, capable, verdict) in [
            (Opens, Some(0), false, Verdict::Ok),
            (Refused, Some(0), false, Verdict::Limited),
            (Refused, Some(1), false, Verdict::Ok),
            (Absent, Some(0), true, Verdict::Ok),
            (Absent, Some(0), false, Verdict::Limited),
            (Absent, None, true, Verdict::Missing),
        ] {
            let fact = userfaultfd(device, sysctl, capable);
            assert_eq!(fact.verdict, verdict, "{fact:?}");
            assert_eq!(fact.cure.is_some(), verdict != Verdict::Ok);
        }
    }

    #[test]
    fn io_uring_knows_its_group() {
        for (mode, status, verdict) in [
            ("0", "", Verdict::Ok),
            ("1", "CapEff: 0\nGid:\t5\t5\t5\t5\nGroups:\t7 99\n", Verdict::Ok),
            ("1", "CapEff: 0\nGid:\t5\t5\t5\t5\nGroups:\t7\n", Verdict::Limited),
            ("1", "CapEff: 0000000000200000\n", Verdict::Ok),
            ("2", "CapEff: 0000000000200000\n", Verdict::Limited),
        ] {
            let (_root, host) = made_up(&[
                ("/proc/sys/kernel/io_uring_disabled", mode),
                ("/proc/sys/kernel/io_uring_group", "99"),
                ("/proc/self/status", status),
            ]);
            assert_eq!(io_uring(&host).verdict, verdict, "{mode} {status}");
        }
    }

    #[test]
    fn a_filter_is_reported() {
        let (_root, host) = made_up(&[("/proc/self/status", "Seccomp:\t2\nSeccomp_filters:\t1\n")]);
        assert_eq!(seccomp(&host).verdict, Verdict::Limited);
    }
}
