//! What limits a connection over a long way: how many bytes the kernel keeps on their way, and how it takes losses.

use super::fact::{Fact, Group, Value};
use super::host::Host;

/// What a stream between hosts keeps on its way unless it is told otherwise.
const WINDOW: u64 = 16 << 20;
/// The capability to use any congestion control.
const CAP_NET_ADMIN: u32 = 12;
/// The round trip of the example in a message: another country.
const ROUND_TRIP_MS: u64 = 20;

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    vec![
        buffer(host, "network.send_buffer", "send buffer, largest", "tcp_wmem"),
        buffer(host, "network.receive_buffer", "receive buffer, largest", "tcp_rmem"),
        congestion_control(host),
    ]
}

/// The last of three numbers: how far the kernel lets a connection's buffer grow.
fn buffer(host: &Host, name: &'static str, label: &'static str, setting: &str) -> Fact {
    let text = host.text(&format!("/proc/sys/net/ipv4/{setting}")).unwrap_or_default();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[least, first, largest] = numbers.as_slice() else {
        return Fact::new(Group::Network, name, label, Value::Unknown);
    };
    let fact = Fact::new(Group::Network, name, label, Value::Bytes(largest));
    if largest >= WINDOW {
        return fact;
    }
    let megabits = largest * 8 / (ROUND_TRIP_MS * 1000);
    fact.limited(format!(
        "less than the 16 MiB that a stream keeps on its way: a round trip of {ROUND_TRIP_MS} ms leaves at most {megabits} Mbit/s"
    ))
    .cure(format!("sudo sysctl net.ipv4.{setting}=\"{least} {first} {}\"", 2 * WINDOW))
}

fn congestion_control(host: &Host) -> Fact {
    let words = |setting: &str| -> Option<Vec<String>> {
        let text = host.text(&format!("/proc/sys/net/ipv4/{setting}"))?;
        Some(text.split_whitespace().map(str::to_owned).collect())
    };
    let Some(available) = words("tcp_available_congestion_control") else {
        return Fact::new(Group::Network, "network.congestion_control", "congestion control", Value::Unknown);
    };
    let has = |list: &[String]| list.iter().any(|word| word == "bbr");
    let allowed = words("tcp_allowed_congestion_control").unwrap_or_default();
    let (has_bbr, may_use_bbr) = (has(&available), has(&allowed));
    let fact = Fact::new(Group::Network, "network.congestion_control", "congestion control", Value::List(available));
    let why = "without BBR, a few lost packets slow a stream down where round trips are long";
    if !has_bbr {
        fact.limited(why).cure("sudo modprobe tcp_bbr")
    } else if !may_use_bbr && host.capable(CAP_NET_ADMIN) != Some(true) {
        let mut allowed = allowed;
        allowed.push("bbr".to_owned());
        let allowed = allowed.join(" ");
        fact.limited(why).cure(format!("sudo sysctl net.ipv4.tcp_allowed_congestion_control=\"{allowed}\""))
    } else {
        fact
    }
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn small_buffers_are_limited() {
        let path = "/proc/sys/net/ipv4/tcp_wmem";
        let of = |text: &str| {
            let (_root, host) = made_up(&[(path, text)]);
            buffer(&host, "network.send_buffer", "", "tcp_wmem")
        };
        let usual = of("4096\t16384\t4194304\n");
        assert_eq!((usual.value, usual.verdict), (Value::Bytes(4 << 20), Verdict::Limited));
        assert!(usual.why.is_some_and(|why| why.contains("at most 1677 Mbit/s")));
        assert_eq!(usual.cure.as_deref(), Some("sudo sysctl net.ipv4.tcp_wmem=\"4096 16384 33554432\""));
        assert_eq!(of("4096 16384 33554432").verdict, Verdict::Ok);
        for strange in ["", "4096", "a b c", "1 2 3 4"] {
            assert_eq!(of(strange).value, Value::Unknown);
        }
    }

    #[test]
    fn who_may_not_use_bbr_is_told() {
        let of = |available: &str, allowed: &str, capabilities: &str| {
            let (_root, host) = made_up(&[
                ("/proc/sys/net/ipv4/tcp_available_congestion_control", available),
                ("/proc/sys/net/ipv4/tcp_allowed_congestion_control", allowed),
                ("/proc/self/status", &format!("CapEff:\t{capabilities}\n")),
            ]);
            let fact = congestion_control(&host);
            (fact.verdict, fact.cure.unwrap_or_default())
        };
        let (nobody, root) = ("0000000000000000", "000001ffffffffff");
        assert_eq!(of("reno cubic", "reno cubic", root), (Verdict::Limited, "sudo modprobe tcp_bbr".into()));
        assert_eq!(of("reno cubic bbr", "reno cubic", root).0, Verdict::Ok);
        assert_eq!(of("reno cubic bbr", "reno bbr", nobody).0, Verdict::Ok);
        let cure = "sudo sysctl net.ipv4.tcp_allowed_congestion_control=\"reno cubic bbr\"";
        assert_eq!(of("reno cubic bbr", "reno cubic", nobody), (Verdict::Limited, cure.into()));
    }
}
