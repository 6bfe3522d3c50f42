//! The running kernel: which ways of moving a block it should support.

use super::fact::{Fact, Group};
use super::host::Host;

/// The first kernel with `UFFDIO_MOVE`.
const MOVE: (u32, u32) = (6, 8);
/// The first kernel on which a moved huge page stays a huge page in a range that was emptied before.
const PAGER_MOVE: (u32, u32) = (6, 14);

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    vec![release(host), Fact::new(Group::Kernel, "kernel.architecture", "architecture", std::env::consts::ARCH)]
}

fn release(host: &Host) -> Fact {
    let text = host.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let fact = Fact::new(Group::Kernel, "kernel.release", "release", text.as_str());
    // Distributions backport features. So this is what to expect, and the table of pairs shows what was tested.
    match version(&text) {
        None => fact.limited("the version is not understood, so the features of this kernel are unknown"),
        Some(version) if version < MOVE => fact
            .limited("UFFDIO_MOVE came with Linux 6.8; blocks move by mremap here, which is slower")
            .cure("run Linux 6.14 or later"),
        Some(version) if version < PAGER_MOVE => fact
            .limited("system calls on stream pointers (pager + move) need Linux 6.14")
            .cure("run Linux 6.14 or later"),
        Some(_) => fact,
    }
}

/// Major and minor number of a release such as `6.18.44-fc`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn releases_are_judged() {
        for (release, verdict) in [
            ("6.18.44-fc-v595\n", Verdict::Ok),
            ("6.14.0", Verdict::Ok),
            ("7.0-rc1", Verdict::Ok),
            ("6.8.0-45-generic", Verdict::Limited),
            ("5.15.0", Verdict::Limited),
            ("strange", Verdict::Limited),
        ] {
            let (_root, host) = made_up(&[("/proc/sys/kernel/osrelease", release)]);
            assert_eq!(facts(&host)[0].verdict, verdict, "{release}");
        }
    }
}
