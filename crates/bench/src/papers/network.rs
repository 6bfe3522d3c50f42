//! Network Vortex: streams between hosts.

use super::{Claim, Paper, Part, Section};
use crate::catalogue::Target;

/// The work.
pub(super) const PAPER: Paper = Paper {
    name: "network",
    title: "Network Vortex",
    cite: "thesis, 2022",
    link: None,
    numbers: "Three numbers of the thesis are known here: a TCP stream reached 0.986 of iperf3 on the same link, a stream over \
        RDMA 0.52 of the raw benchmark, and a transfer took fewer than ten lines a side.",
    sections: &[
        Section {
            name: "tcp",
            title: "Transfer rates over TCP",
            asked: "The rate of a stream between two hosts, beside iperf3 on the same link.",
            published: &[],
            parts: &[
                Part::bars("link-1g"),
                Part::bars("link-10g"),
                Part::bars("link-far"),
                Part::bars("net-plain"),
                Part::bars("net-tls"),
                Part::bars("send-file"),
            ],
            found: None,
            without: Some(
                "The hosts are network namespaces of one machine, and share its processors. Who may not make them (root may) \
                gets the rows over loopback, where the processor is the limit and not the link.",
            ),
            claims: &[Claim::new(
                "a stream / iperf3",
                "a link between two hosts",
                "link-1g",
                Target::must("plain", 0.986, "iperf3").at("1 GiB"),
            )],
        },
        Section {
            name: "rdma",
            title: "Transfer rates over RDMA",
            asked: "A copy through one registered buffer, a pipelined copy, and registration of each block, as fractions of the raw \
                benchmark: 0.52 of the link.",
            published: &[],
            parts: &[Part::bars("rdma-bare"), Part::bars("rdma-tcp"), Part::bars("rdma-shm")],
            found: Some(
                "Three of the ways are the thesis'. The fourth, the pool, registers all memory once and lets windows slide over it: \
                nothing is copied, and nothing registered on the way.",
            ),
            without: Some(
                "There is no card here: the providers are sockets (tcp) and shared memory (shm). What a card gives is measured by the \
                example `rdma` of the crate eagre-net, on two hosts that have one.",
            ),
            claims: &[Claim::new(
                "a stream / the raw benchmark",
                "an RDMA link; here libfabric's provider tcp over loopback",
                "rdma-bare",
                Target::must("pool", 0.52, "bare").at("8 GiB"),
            )],
        },
        Section {
            name: "lines",
            title: "Lines of user code",
            asked: "How many lines a transfer takes on each side: fewer than ten.",
            published: &[],
            parts: &[],
            found: Some(
                "Here a sender takes 4 lines and a receiver 5, security and errors included: the functions `send` and `receive` of \
                docs/network.md, which a test compiles and another counts.",
            ),
            without: None,
            claims: &[],
        },
        Section {
            name: "processes",
            title: "Beside the thesis: streams between processes",
            asked: "The same pointers with the other end in another process of this machine.",
            published: &[],
            parts: &[Part::bars("process-stream")],
            found: None,
            without: None,
            claims: &[],
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::PAPER;

    /// The lines between the head of a function and its closing brace.
    fn body(text: &str, head: &str) -> usize {
        let (_, rest) = text.split_once(head).unwrap();
        let (body, _) = rest.split_once("\n}\n").unwrap();
        body.lines().skip(1).count()
    }

    #[test]
    fn lines_of_user_code_are_as_said() {
        let text = include_str!("../../../../docs/network.md");
        let (send, receive) = (body(text, "\nfn send("), body(text, "\nfn receive("));
        let section = PAPER.sections.iter().find(|section| section.name == "lines").unwrap();
        let said = format!("a sender takes {send} lines and a receiver {receive}");
        assert!(section.found.unwrap().contains(&said), "{said}");
    }
}
