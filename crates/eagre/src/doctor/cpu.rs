//! The processors: their number, vector instructions and caches.

use super::fact::{Fact, Group, Value};
use super::host::Host;

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let online = online(host).map_or(Value::Unknown, Value::Count);
    let mut facts = vec![model(host), fact("cpu.online", "processors", online), usable(), simd(), simd_features()];
    facts.extend(caches(host));
    facts
}

fn fact(name: &'static str, label: &'static str, value: impl Into<Value>) -> Fact {
    Fact::new(Group::Cpu, name, label, value)
}

fn model(host: &Host) -> Fact {
    let model = host.field("/proc/cpuinfo", "model name");
    fact("cpu.model", "model", model.map_or(Value::Unknown, Value::Text))
}

/// The number of processors that are online, whether or not this process may use them.
pub(super) fn online(host: &Host) -> Option<u64> {
    count_list(&host.text("/sys/devices/system/cpu/online")?)
}

/// The number of processors left by the affinity mask and the control group's quota. It is the default number of
/// threads.
fn usable() -> Fact {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    fact("cpu.usable", "usable by this process", Value::Count(count as u64))
}

/// How many numbers a list such as `0-3,8` contains.
fn count_list(list: &str) -> Option<u64> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            last.checked_sub(first).map(|n| n + 1)
        })
        .sum()
}

fn simd() -> Fact {
    let level = level(&features());
    let fact = fact("cpu.simd", "vector level", level);
    if level == "none" || level.starts_with("SSE") {
        fact.limited("sorting and scanning are fastest with AVX2 or AVX-512, or NEON")
    } else {
        fact
    }
}

fn simd_features() -> Fact {
    let words = features().into_iter().map(str::to_owned).collect();
    fact("cpu.simd_features", "vector instructions", Value::List(words))
}

/// The widest instruction level that the kernels of this library can use.
fn level(features: &[&str]) -> &'static str {
    let has = |name| features.contains(&name);
    if has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq") {
        "AVX-512"
    } else if has("avx2") {
        "AVX2"
    } else if has("sse4.2") {
        "SSE4.2"
    } else if has("sse2") {
        "SSE2"
    } else if has("sve2") {
        "SVE2"
    } else if has("neon") {
        "NEON"
    } else {
        "none"
    }
}

/// The vector instructions that matter here and that the processor and the operating system support.
fn features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! detect {
        ($detect:ident: $($feature:tt)*) => {
            $( if std::arch::$detect!($feature) { found.push($feature); } )*
        };
    }
    #[cfg(target_arch = "x86_64")]
    detect!(is_x86_feature_detected: "sse2" "sse4.2" "popcnt" "avx2" "bmi2" "avx512f" "avx512dq" "avx512bw"
        "avx512vl" "avx512vbmi" "avx512vbmi2" "avx512vpopcntdq");
    #[cfg(target_arch = "aarch64")]
    detect!(is_aarch64_feature_detected: "neon" "sve" "sve2");
    found
}

/// The data caches of the first processor, the innermost first.
fn caches(host: &Host) -> Vec<Fact> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";
    let size = |level: u64| {
        host.names(FOLDER).into_iter().find_map(|name| {
            let file = |what: &str| format!("{FOLDER}/{name}/{what}");
            let data = host.text(&file("type"))? != "Instruction";
            (data && host.number(&file("level"))? == level)
                .then(|| host.text(&file("size")))
                .flatten()
                .and_then(|text| cache_size(&text))
        })
    };
    let levels = [
        (1, "cpu.cache.l1d", "first-level data cache"),
        (2, "cpu.cache.l2", "second-level cache"),
        (3, "cpu.cache.l3", "third-level cache"),
    ];
    levels.into_iter().filter_map(|(level, name, label)| Some(fact(name, label, Value::Bytes(size(level)?)))).collect()
}

/// A size such as `32K` or `1M`.
fn cache_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "" => Some(number),
        "K" => number.checked_mul(1 << 10),
        "M" => number.checked_mul(1 << 20),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn lists_and_sizes_parse() {
        assert_eq!(count_list("0-3,8,10-11"), Some(7));
        assert_eq!(count_list("0"), Some(1));
        assert_eq!(count_list(""), None);
        assert_eq!(count_list("3-1"), None);
        assert_eq!(cache_size("48K"), Some(48 << 10));
        assert_eq!(cache_size("2M"), Some(2 << 20));
        assert_eq!(cache_size("lots"), None);
    }

    #[test]
    fn levels_are_named_by_what_the_kernels_need() {
        assert_eq!(level(&["sse2", "avx2", "avx512f"]), "AVX2");
        assert_eq!(level(&["avx2", "avx512f", "avx512dq", "avx512bw", "avx512vl"]), "AVX-512");
        assert_eq!(level(&["neon"]), "NEON");
        assert_eq!(level(&[]), "none");
    }

    #[test]
    fn instruction_caches_do_not_count() {
        let cache = |file: &str| format!("/sys/devices/system/cpu/cpu0/cache/{file}");
        let (_root, host) = made_up(&[
            (&cache("index0/type"), "Instruction"),
            (&cache("index0/level"), "1"),
            (&cache("index0/size"), "32K"),
            (&cache("index1/type"), "Data"),
            (&cache("index1/level"), "1"),
            (&cache("index1/size"), "48K"),
        ]);
        let caches = caches(&host);
        assert_eq!(caches.len(), 1);
        assert_eq!(caches[0].value, Value::Bytes(48 << 10));
    }
}
