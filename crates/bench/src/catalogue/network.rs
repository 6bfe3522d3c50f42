//! Rows about streams between hosts, over loopback: both ends are in this process, and share its processors.

use super::{Case, Entry, GIB, MIB, Network, Row, Target, Unit, Way, Work};

const CASES: &[Case] =
    &[Case { name: "4 GiB", work: Work::Pipe { streams: 1 }, size: 4 * GIB, quick: 16 * MIB + 4096 }];

const fn eagre(name: &'static str, tls: bool, pointers: bool, about: &'static str) -> Entry {
    Entry::new(name, Way::Network(Network::Eagre { tls, pointers }), about)
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
                Way::Network(Network::Sockets { checks: false }),
                "fills a buffer of 256 KiB, writes it; reads into another, sums it. No checks, one thread an end",
            ),
            Entry::new(
                "checked sockets",
                Way::Network(Network::Sockets { checks: true }),
                "the same, with the checks that Eagre does: XXH3 of each buffer, BLAKE3 of all, on both sides",
            ),
            eagre("explicit", false, false, "Eagre: explicit calls; every piece checked, the stream digested (BLAKE3)"),
            eagre("pointer", false, true, "Eagre: the same through plain pointers"),
        ],
        targets: &[
            Target::must("explicit", 0.9, "sockets"),
            Target::must("pointer", 0.9, "sockets"),
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
            eagre("explicit", true, false, "Eagre: explicit calls"),
            eagre("pointer", true, true, "Eagre: plain pointers"),
        ],
        targets: &[Target::must("explicit", 0.9, "rustls"), Target::must("pointer", 0.9, "rustls")],
    },
];
