//! Rows about streams between hosts, over loopback: both ends are in this process, and share its processors.

use eagre_net::{RdmaAlgorithm, RdmaProvider};

use super::{Case, Courier, Entry, GIB, MIB, Network, RdmaEnd, Row, Target, Unit, Way, Wire, Work};

const CASES: &[Case] =
    &[Case { name: "4 GiB", work: Work::Pipe { streams: 1 }, size: 4 * GIB, quick: 16 * MIB + 4096 }];

const fn eagre(name: &'static str, tls: bool, pointers: bool, about: &'static str) -> Entry {
    Entry::new(name, Way::Network(Network::Eagre { tls, pointers }), about)
}

const fn sends(name: &'static str, courier: Courier, about: &'static str) -> Entry {
    Entry::new(name, Way::Send(courier), about)
}

const fn rdma(
    name: &'static str,
    provider: RdmaProvider,
    algorithm: RdmaAlgorithm,
    end: RdmaEnd,
    about: &'static str,
) -> Entry {
    Entry::new(name, Way::Network(Network::Rdma { provider, algorithm, end }), about)
}

const POOL: &str = "Eagre: the pool is registered once, and written where it is read";
const EACH: &str = "Eagre: each block is registered while it is on its way";
const PIPELINED: &str = "Eagre: blocks are copied through four registered buffers on each side";
const COPY: &str = "Eagre: blocks are copied through one registered buffer on each side";

/// A cable of so many Mbit/s.
const fn cable(megabits: u32) -> Wire {
    Wire { megabits, round_trip: 0, lost_one_in: 0 }
}

const LONG_WAY: Wire = Wire { megabits: 1000, round_trip: 20, lost_one_in: 1000 };

const fn linked(wire: Wire) -> [Entry; 3] {
    [
        Entry::new("iperf3", Way::Network(Network::Iperf(wire)), "iperf3: one connection; nobody looks at the bytes"),
        Entry::new(
            "plain",
            Way::Network(Network::Linked { wire, tls: false }),
            "Eagre: explicit calls; every piece checked, the stream digested (BLAKE3)",
        ),
        Entry::new("tls", Way::Network(Network::Linked { wire, tls: true }), "the same through TLS 1.3"),
    ]
}

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "net-plain",
        about: "one stream over loopback, plain: one thread fills it, another sums it",
        source: "streams between hosts, row 2",
        unit: Unit::GigabytesPerSecond,
        cases: CASES,
        contenders: &[
            Entry::new(
                "sockets",
                Way::Network(Network::Sockets { checks: false, cold: false }),
                "fills a buffer of 256 KiB, writes it; reads into another, sums it. No checks, one thread an end",
            ),
            Entry::new(
                "cold sockets",
                Way::Network(Network::Sockets { checks: false, cold: true }),
                "the same, piece after piece of 1 GiB on each side, which no cache holds",
            ),
            Entry::new(
                "checked sockets",
                Way::Network(Network::Sockets { checks: true, cold: false }),
                "as sockets, with the checks that Eagre does: XXH3 of each buffer, BLAKE3 of all, on both sides",
            ),
            eagre("explicit", false, false, "Eagre: explicit calls; every piece checked, the stream digested (BLAKE3)"),
            eagre("pointer", false, true, "Eagre: the same through plain pointers"),
        ],
        targets: &[
            Target::must("explicit", 0.9, "sockets"),
            Target::must("pointer", 0.9, "sockets"),
            Target::must("explicit", 0.9, "cold sockets"),
            Target::must("pointer", 0.9, "cold sockets"),
            Target::must("explicit", 0.9, "checked sockets"),
            Target::must("pointer", 0.9, "checked sockets"),
        ],
    },
    Row {
        name: "net-tls",
        about: "one stream over loopback through TLS 1.3, with checks and a digest",
        source: "streams between hosts, row 3",
        unit: Unit::GigabytesPerSecond,
        cases: CASES,
        contenders: &[
            Entry::new(
                "rustls",
                Way::Network(Network::Rustls),
                "fills a buffer of 256 KiB, digests it (XXH3, BLAKE3), writes it through rustls; and back. One thread an end",
            ),
            Entry::new(
                "quinn",
                Way::Network(Network::Quinn),
                "fills, writes through QUIC (quinn), sums. No digests, one thread an end",
            ),
            eagre("explicit", true, false, "Eagre: explicit calls"),
            eagre("pointer", true, true, "Eagre: plain pointers"),
        ],
        targets: &[
            Target::must("explicit", 0.9, "rustls"),
            Target::must("pointer", 0.9, "rustls"),
            Target::must("explicit", 2.0, "quinn"),
        ],
    },
    Row {
        name: "link-1g",
        about: "one stream between two hosts (network namespaces) whose link carries 1 Gbit/s (veth, tbf): one fills it, the other sums it",
        source: "streams between hosts, row 1",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "1 GiB", work: Work::Pipe { streams: 1 }, size: GIB, quick: 16 * MIB + 4096 }],
        contenders: &linked(cable(1000)),
        targets: &[Target::must("plain", 0.98, "iperf3")],
    },
    Row {
        name: "link-10g",
        about: "the same with a link of 10 Gbit/s",
        source: "streams between hosts, row 1",
        unit: Unit::GigabytesPerSecond,
        cases: CASES,
        contenders: &linked(cable(10_000)),
        targets: &[Target::must("plain", 0.97, "iperf3")],
    },
    Row {
        name: "link-far",
        about: "the same over 1 Gbit/s, 20 ms there and back, where one of 1000 packets is lost; all with BBR",
        source: "streams between hosts, row 5",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "1 GiB", work: Work::Pipe { streams: 1 }, size: GIB, quick: 16 * MIB + 4096 }],
        contenders: &linked(LONG_WAY),
        targets: &[Target::must("plain", 0.95, "iperf3")],
    },
    Row {
        name: "rdma-bare",
        about: "blocks of one stream over loopback through libfabric's provider tcp, handed on as they are, without checks",
        source: "RDMA streams, row 1",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "8 GiB", work: Work::Pipe { streams: 1 }, size: 8 * GIB, quick: 16 * MIB }],
        contenders: &[
            Entry::new(
                "bare",
                Way::Network(Network::RdmaBare { provider: RdmaProvider::Tcp }),
                "a C program: fi_writedata, 4 blocks of 1 MiB on each side, no credits",
            ),
            rdma("pool", RdmaProvider::Tcp, RdmaAlgorithm::Pool, RdmaEnd::Untouched, POOL),
            rdma("each-block", RdmaProvider::Tcp, RdmaAlgorithm::EachBlock, RdmaEnd::Untouched, EACH),
            rdma("pipelined-copy", RdmaProvider::Tcp, RdmaAlgorithm::PipelinedCopy, RdmaEnd::Untouched, PIPELINED),
            rdma("copy", RdmaProvider::Tcp, RdmaAlgorithm::Copy, RdmaEnd::Untouched, COPY),
        ],
        targets: &[Target::must("pool", 0.95, "bare")],
    },
    Row {
        name: "rdma-tcp",
        about: "one stream over loopback through libfabric's provider tcp, plain, with checks and a digest: one thread fills it, another \
                sums it",
        source: "RDMA streams, row 2",
        unit: Unit::GigabytesPerSecond,
        cases: CASES,
        contenders: &[
            eagre("tcp", false, false, "Eagre: a stream over TCP, explicit calls"),
            eagre("tcp pointer", false, true, "Eagre: a stream over TCP, plain pointers"),
            rdma("pool", RdmaProvider::Tcp, RdmaAlgorithm::Pool, RdmaEnd::Calls, POOL),
            rdma(
                "pool pointer",
                RdmaProvider::Tcp,
                RdmaAlgorithm::Pool,
                RdmaEnd::Pointers,
                "the same on plain pointers",
            ),
            rdma("each-block", RdmaProvider::Tcp, RdmaAlgorithm::EachBlock, RdmaEnd::Calls, EACH),
            rdma("pipelined-copy", RdmaProvider::Tcp, RdmaAlgorithm::PipelinedCopy, RdmaEnd::Calls, PIPELINED),
            rdma("copy", RdmaProvider::Tcp, RdmaAlgorithm::Copy, RdmaEnd::Calls, COPY),
        ],
        targets: &[Target::must("pool", 1.0, "tcp"), Target::must("pool pointer", 1.0, "tcp pointer")],
    },
    Row {
        name: "rdma-shm",
        about: "one stream through libfabric's provider shm, without checks: one thread fills it, another sums it",
        source: "RDMA streams, row 3",
        unit: Unit::GigabytesPerSecond,
        cases: CASES,
        contenders: &[
            rdma("pool", RdmaProvider::Shm, RdmaAlgorithm::Pool, RdmaEnd::Unchecked, POOL),
            rdma("each-block", RdmaProvider::Shm, RdmaAlgorithm::EachBlock, RdmaEnd::Unchecked, EACH),
            rdma("pipelined-copy", RdmaProvider::Shm, RdmaAlgorithm::PipelinedCopy, RdmaEnd::Unchecked, PIPELINED),
            rdma("copy", RdmaProvider::Shm, RdmaAlgorithm::Copy, RdmaEnd::Unchecked, COPY),
        ],
        targets: &[Target::must("pool", 1.4, "copy")],
    },
    Row {
        name: "send-file",
        about: "send a file from one tmpfs to another over loopback, from before the sender starts until both sides have ended",
        source: "streams between hosts, row 4",
        unit: Unit::GigabytesPerSecond,
        cases: &[Case { name: "2 GiB", work: Work::Send, size: 2 * GIB, quick: 8 * MIB + 4096 }],
        contenders: &[
            sends(
                "eagre",
                Courier::Eagre { tls: true, streams: 1 },
                "eagre send and receive: TLS 1.3, digests compared (BLAKE3)",
            ),
            sends("eagre-4", Courier::Eagre { tls: true, streams: 4 }, "the same over four connections"),
            sends("eagre-plain", Courier::Eagre { tls: false, streams: 1 }, "eagre send and receive without TLS"),
            sends("scp", Courier::Scp, "scp to an sshd"),
            sends("rsync", Courier::Rsync, "rsync --whole-file to its daemon: plain"),
            sends("mbuffer", Courier::Mbuffer, "mbuffer: plain, no checks"),
            sends("rclone", Courier::Rclone, "rclone copy to rclone serve webdav: plain"),
            sends("croc", Courier::Croc, "croc --local: encrypted"),
        ],
        targets: &[
            Target::must("eagre", 2.0, "scp"),
            Target::must("eagre", 10.0, "croc"),
            Target::must("eagre-plain", 1.0, "rsync"),
            Target::must("eagre-plain", 1.0, "mbuffer"),
        ],
    },
];
