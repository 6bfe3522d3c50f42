//! Huge pages. Moving a block takes a microsecond if it is one huge page, and hundreds of microseconds in 4 KiB pages.

use super::fact::{Fact, Group, Value};
use super::host::Host;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const HUGETLB: &str = "/sys/kernel/mm/hugepages";

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let mut facts = vec![enabled(host)];
    if host.path(THP).is_dir() {
        facts.extend([size(host), defrag(host), shmem(host), smaller(host)]);
    }
    facts.push(hugetlb(host));
    facts
}

fn fact(name: &'static str, label: &'static str, value: Option<String>) -> Fact {
    Fact::new(Group::HugePages, name, label, value.map_or(Value::Unknown, Value::Text))
}

fn enabled(host: &Host) -> Fact {
    let choice = host.choice(&format!("{THP}/enabled"));
    let fact = fact("huge.enabled", "transparent", choice.clone());
    let off_for_us = host.field("/proc/self/status", "THP_enabled").as_deref() == Some("0");
    match choice.as_deref() {
        None => {
            fact.missing("this kernel has no transparent huge pages; blocks are made of small pages and move slowly")
        }
        Some("never") => fact
            .missing("blocks are made of small pages and move slowly")
            .cure("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(_) if off_for_us => fact
            .missing("huge pages were disabled by the program that started this process (PR_SET_THP_DISABLE)")
            .cure("start it without that setting"),
        Some(_) => fact,
    }
}

fn size(host: &Host) -> Fact {
    let bytes = host.number(&format!("{THP}/hpage_pmd_size"));
    let fact = Fact::new(Group::HugePages, "huge.size", "size", bytes.map_or(Value::Unknown, Value::Bytes));
    match bytes {
        Some(bytes) if bytes > 2 << 20 => {
            fact.limited("this is larger than Eagre's default block of 2 MiB, which stays on small pages")
        }
        _ => fact,
    }
}

fn defrag(host: &Host) -> Fact {
    let choice = host.choice(&format!("{THP}/defrag"));
    let fact = fact("huge.defrag", "defragmentation", choice.clone());
    match choice.as_deref() {
        Some("never") => fact
            .limited("when memory is fragmented, no huge page may be free, and the kernel will not make one")
            .cure("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag"),
        _ => fact,
    }
}

fn shmem(host: &Host) -> Fact {
    let choice = host.choice(&format!("{THP}/shmem_enabled"));
    let fact = fact("huge.shmem", "shared memory", choice.clone());
    match choice.as_deref() {
        // `never` is fine, because MADV_COLLAPSE makes huge pages anyway. Only `deny` refuses that too.
        Some("deny") => fact
            .limited("memory shared with other processes stays on small pages")
            .cure("echo never | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        _ => fact,
    }
}

/// The enabled sizes below the large one, smallest first.
fn smaller(host: &Host) -> Fact {
    let mut sizes: Vec<u64> = page_sizes(host, THP)
        .into_iter()
        .filter(|kib| {
            let choice = host.choice(&format!("{THP}/hugepages-{kib}kB/enabled"));
            !matches!(choice.as_deref(), None | Some("never"))
        })
        .collect();
    sizes.sort_unstable();
    let sizes = sizes.into_iter().map(|kib| format!("{kib} KiB")).collect();
    Fact::new(Group::HugePages, "huge.sizes", "enabled sizes", Value::List(sizes))
}

/// Pages that an administrator reserved. Eagre does not need any.
fn hugetlb(host: &Host) -> Fact {
    let mut pools = Vec::new();
    for kib in page_sizes(host, HUGETLB) {
        let pool = format!("{HUGETLB}/hugepages-{kib}kB");
        let total = host.number(&format!("{pool}/nr_hugepages")).unwrap_or(0);
        let free = host.number(&format!("{pool}/free_hugepages")).unwrap_or(0);
        if total > 0 {
            pools.push(format!("{total} of {kib} KiB, {free} free"));
        }
    }
    Fact::new(Group::HugePages, "huge.reserved", "reserved (hugetlb)", Value::List(pools))
}

/// The sizes, in KiB, of the directories `hugepages-2048kB` and so on.
fn page_sizes(host: &Host, folder: &str) -> Vec<u64> {
    let size = |name: String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok();
    host.names(folder).into_iter().filter_map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn never_is_missing_with_a_cure() {
        let (_root, host) = made_up(&[("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")]);
        let fact = enabled(&host);
        assert_eq!(fact.verdict, Verdict::Missing);
        assert!(fact.cure.unwrap().contains("madvise"));
    }

    #[test]
    fn huge_pages_disabled_for_the_process_are_reported() {
        let (_root, host) = made_up(&[
            ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            ("/proc/self/status", "THP_enabled:\t0\n"),
        ]);
        assert_eq!(enabled(&host).verdict, Verdict::Missing);
    }

    #[test]
    fn sizes_are_sorted_and_only_those_switched_on() {
        let thp = "/sys/kernel/mm/transparent_hugepage";
        let (_root, host) = made_up(&[
            (&format!("{thp}/hugepages-2048kB/enabled"), "always [inherit] madvise never"),
            (&format!("{thp}/hugepages-64kB/enabled"), "[always] inherit madvise never"),
            (&format!("{thp}/hugepages-128kB/enabled"), "always inherit madvise [never]"),
            ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "8"),
            ("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3"),
        ]);
        let list = |words: &[&str]| Value::List(words.iter().map(|&w| w.to_owned()).collect());
        assert_eq!(smaller(&host).value, list(&["64 KiB", "2048 KiB"]));
        assert_eq!(hugetlb(&host).value, list(&["8 of 2048 KiB, 3 free"]));
    }
}
