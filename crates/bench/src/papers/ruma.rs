//! RUMA: rewired memory.

use super::{Paper, Part, Section};

/// Blocks of these sizes, in KiB.
const BLOCKS: &[f64] = &[4.0, 64.0, 2048.0];

/// The cases of a row about rewiring, from the smallest block on.
const BY_BLOCK: &[&str] = &["4 KiB blocks", "64 KiB blocks", "2 MiB blocks"];

/// The work.
pub(super) const PAPER: Paper = Paper {
    name: "ruma",
    title: "RUMA has it: Rewired User-space Memory Access is Possible!",
    cite: "Schuhknecht, Dittrich, Sharma; PVLDB 9(10), 2016, pages 768-779",
    link: Some("http://www.vldb.org/pvldb/vol9/p768-schuhknecht.pdf"),
    numbers: "The paper's text and numbers were not at hand: its sections show what this machine gives. What each measured is \
        told in the words of the rows that repeat it; tables and figures are matched with rows by the order of the paper's \
        sections, so that one may stand where its neighbour belongs.",
    sections: &[
        Section {
            name: "figure-5",
            title: "Figure 5: the cost of mapping",
            asked: "The time to map blocks of a file in memory to other addresses, by size of block and kind of page.",
            published: &[],
            parts: &[Part::curve("rewire-map", BY_BLOCK, "KiB a block", BLOCKS)],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-6",
            title: "Figure 6: the first and the second access",
            asked: "The time of the first pass over memory that was rewired, whose faults fill the page table, and of the second.",
            published: &[],
            parts: &[Part::beside("rewire-touch")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-1",
            title: "Table 1: sequential access to rewired memory",
            asked: "The rate of a scan in the order of addresses over pages that lie in memory in no order.",
            published: &[],
            parts: &[Part::curve("rewire-scan", BY_BLOCK, "KiB a block", BLOCKS)],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-2",
            title: "Table 2: random access to rewired memory",
            asked: "The time of an access at random to rewired memory, beside a directory of blocks in software.",
            published: &[],
            parts: &[
                Part::curve(
                    "rewire-random",
                    &["independent, 4 KiB blocks", "independent, 64 KiB blocks", "independent, 2 MiB blocks"],
                    "KiB a block, addresses known beforehand",
                    BLOCKS,
                ),
                Part::curve(
                    "rewire-random",
                    &["dependent, 4 KiB blocks", "dependent, 64 KiB blocks", "dependent, 2 MiB blocks"],
                    "KiB a block, each address from the load before",
                    BLOCKS,
                ),
            ],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-8",
            title: "Figure 8: a vector that grows (section 5.1)",
            asked: "The time to append to a vector that grows by rewiring, beside the C++ library's, mremap and a list of blocks.",
            published: &[],
            parts: &[Part::bars("fill-vector")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-10",
            title: "Figure 10: partitioning (section 5.2)",
            asked: "The time to partition without counting first, beside two passes and chains of blocks.",
            published: &[],
            parts: &[Part::bars("partition")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-3",
            title: "Table 3: taking a snapshot (section 5.3)",
            asked: "The time of the call that takes a snapshot of an array, beside fork.",
            published: &[],
            parts: &[Part::bars("snapshot-call")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-4",
            title: "Table 4: updates between snapshots (section 5.3)",
            asked: "The rate of updates of random pages while snapshots are taken, by their frequency, beside fork.",
            published: &[],
            parts: &[Part::curve(
                "snapshot",
                &[],
                "% of the pages stored to for each snapshot",
                &[0.1, 1.0, 10.0, 100.0],
            )],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-11",
            title: "Figure 11: a snapshot as it is written to (section 5.3)",
            asked: "The cost of the first store to each page after a snapshot, from few pages to all.",
            published: &[],
            parts: &[Part::bars("snapshot").of(&["100 % of pages"])],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "section-6",
            title: "Section 6: the same blocks at several addresses",
            asked: "Blocks in any order as one array, beside a copy and a directory; a hash directory that doubles by being mapped twice.",
            published: &[],
            parts: &[
                Part::bars("view"),
                Part::bars("view-random"),
                Part::bars("hash-directory"),
                Part::bars("hash-directory-double"),
            ],
            found: None,
            without: None,
            claims: &[],
        },
    ],
};
