//! Vortex: streams behind plain pointers.

use super::{Claim, Paper, Part, Published, Section};
use crate::catalogue::Target;

const README: &str =
    "the authors' repository, github.com/Hanel32/Vortex, README.md, which calls its tables a preview of the paper's";
const I7: &str = "two cores of an i7-7820X, Windows";
const SSD: &str = "a Samsung 960 Evo";
const SORTED: &str = "i7-7820X, 8 GB of keys";

/// The work.
pub(super) const PAPER: Paper = Paper {
    name: "vortex",
    title: "Vortex: Extreme-Performance Memory Abstractions for Data-Intensive Streaming Applications",
    cite: "Hanel, Arman, Xiao, Keech, Loguinov; ASPLOS 2020",
    link: Some("https://doi.org/10.1145/3373376.3378527"),
    numbers: "Tables 3, 4, 8 and 10 from the authors' README, the factor of table 11 from the abstract. The other tables' \
        numbers were not at hand.",
    sections: &[
        Section {
            name: "table-2",
            title: "Table 2: sliding a block",
            asked: "The time to give a block of memory another address, by size of block, with and without a fault.",
            published: &[],
            parts: &[
                Part::curve(
                    "move",
                    &["64 KiB, huge page", "1 MiB, huge page", "2 MiB, huge page", "4 MiB, huge pages"],
                    "KiB a block",
                    &[64.0, 1024.0, 2048.0, 4096.0],
                ),
                Part::bars("move").of(&["2 MiB, huge page", "2 MiB, huge page, peer runs"]),
            ],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-3",
            title: "Table 3: reading and writing files",
            asked: "The rate of sequential reads and writes of a file through a stream pointer, beside streams of the C++ \
                library and mappings, with processor time and memory, on a RAID of 24 disks and on an SSD.",
            published: &[Published {
                about: "MB/s; machines with 32 GB of memory",
                source: README,
                columns: &["", "RAID, read", "RAID, write", "SSD, read", "SSD, write", "CPU", "memory"],
                lines: &[
                    &["std::fstream", "43", "88", "51", "140", "8 %", "2 MB"],
                    &["Windows MapViewOfFile", "69", "147", "1,161", "", "8 %", "32 GB"],
                    &["Linux mmap", "1,892", "1,170", "1,917", "641", "3 %", "30 GB"],
                    &["Vortex-A", "2,235", "1,547", "1,272", "651", "8 %", "5 MB"],
                    &["Vortex-B", "2,231", "2,394", "3,211", "650", "8 %", "5 MB"],
                    &["Vortex-C", "2,238", "2,399", "3,266", "674", "1 %", "5 MB"],
                ],
            }],
            parts: &[Part::bars("read-file"), Part::bars("write-file")],
            found: None,
            without: None,
            claims: &[
                Claim::new(
                    "reading, Vortex-C / Linux mmap",
                    SSD,
                    "read-file",
                    Target::must("eagre-pointer", 1.70, "mmap").at("4 GiB, cold"),
                ),
                Claim::new(
                    "writing, Vortex-C / Linux mmap",
                    SSD,
                    "write-file",
                    Target::must("eagre-pointer", 1.05, "mmap").at("4 GiB, ext4"),
                ),
                Claim::new(
                    "memory of a reader, Vortex-C",
                    SSD,
                    "read-file",
                    Target::memory("eagre-pointer", 5.0).at("4 GiB, cold"),
                )
                .because("Default windows keep five blocks of 2 MiB, so that any library code may use the pointer."),
            ],
        },
        Section {
            name: "table-4",
            title: "Table 4: producer and consumer",
            asked: "One thread fills a stream with words and another consumes it, beside an iterator, queues and dataflow \
                engines, on two cores and on all.",
            published: &[Published {
                about: "GB/s, batched; machines with 32 GB of memory",
                source: README,
                columns: &[
                    "",
                    "i7-3930K, two cores",
                    "i7-4930K, two cores",
                    "i7-7820X, two cores",
                    "i7-3930K, all",
                    "i7-4930K, all",
                    "i7-7820X, all",
                    "memory",
                ],
                lines: &[
                    &["Storm", "1.7", "1.4", "2.4", "11.1", "9.5", "12.8", "1.6 GB"],
                    &["Naiad", "2.7", "3.1", "4.4", "7.4", "7.9", "13.1", "65 MB"],
                    &["Queue of blocks", "6.4", "7.3", "11.4", "17.1", "16.5", "24.8", "24 MB"],
                    &["Vortex-B", "4.3", "4.4", "4.6", "5.1", "5.2", "3.9", "9 MB"],
                    &["Vortex-C", "13.5", "16.4", "23.3", "38.3", "38.4", "65.4", "9 MB"],
                ],
            }],
            parts: &[Part::bars("pipe"), Part::bars("pipes")],
            found: None,
            without: Some(
                "Storm and Naiad are not in the registries that the benchmarks install from; timely dataflow is Naiad's \
                successor. Storm needs a cluster of Java processes.",
            ),
            claims: &[
                Claim::new(
                    "Vortex-C / queue of blocks",
                    I7,
                    "pipe",
                    Target::must("signal+move", 2.04, "queue").at("12 GiB"),
                )
                .because(
                    "The queue here recycles three blocks of 2 MiB, which stay in the cache; the paper's took 24 MB, \
                    more than that processor's cache of 11 MB. A block through a pointer costs a fault and a move at each end: table 2.",
                ),
                Claim::new(
                    "Vortex-C / queue of blocks, all cores",
                    "all cores of an i7-7820X, Windows",
                    "pipes",
                    Target::must("signal+move", 2.64, "queue").at("2 streams"),
                )
                .because("As above: the queues here stay in the cache."),
                Claim::new("Vortex-C / Naiad", I7, "pipe", Target::must("signal+move", 5.30, "timely").at("12 GiB"))
                    .because(
                        "timely hands over batches of 2 MiB by ownership, and they stay in the cache, as the queue's do.",
                    ),
                Claim::new("Vortex-C / Vortex-B", I7, "pipe", Target::must("signal+move", 5.07, "sparse").at("12 GiB"))
                    .because(
                        "Vortex-B commits memory ahead of the stream and gives it back behind; the sparse stream here zeroes \
                        recycled blocks instead.",
                    ),
            ],
        },
        Section {
            name: "table-5",
            title: "Table 5: counters for a stream",
            asked: "What a stream of 100 GB costs the processor: cycles, instructions, misses, faults.",
            published: &[],
            parts: &[Part::bars("overhead")],
            found: None,
            without: Some(
                "100 GB: a stream is as long here as it takes to be measured, and counts are for each gigabyte. Where the machine \
                lets a program count cycles, instructions and misses, they are there too; where it does not, callgrind counts the \
                instructions of the program, without the kernel's. It runs no streams through pointers: their loops are those of \
                `explicit`, and what they have beside them happens in faults and in the kernel.",
            ),
            claims: &[],
        },
        Section {
            name: "table-6",
            title: "Table 6: populating a vector",
            asked: "The rate at which words are appended to a vector of unknown length: std::vector, a vector that grows by \
                remapping, chained blocks, a buffer that is there.",
            published: &[],
            parts: &[Part::bars("fill-vector"), Part::bars("vanish-write")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-7",
            title: "Table 7: partitioning",
            asked: "The rate at which keys are partitioned into 256 and 512 buckets: in two passes, into chained blocks, into \
                preallocated buckets, into streams.",
            published: &[],
            parts: &[Part::bars("partition"), Part::bars("scatter")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-8",
            title: "Table 8: sorting in place",
            asked: "The rate at which 64-bit keys are sorted in place with one thread.",
            published: &[Published {
                about: "M keys/s, one thread; machines with 32 GB of memory",
                source: README,
                columns: &[
                    "",
                    "i7-3930K, 8 GB",
                    "i7-4930K, 8 GB",
                    "i7-7820X, 8 GB",
                    "i7-3930K, 24 GB",
                    "i7-4930K, 24 GB",
                    "i7-7820X, 24 GB",
                ],
                lines: &[
                    &["Gorset Sort (2011)", "17.4", "17.9", "22.0", "20.7", "21.7", "25.8"],
                    &["Columbia Sort, MSD (2014)", "19.2", "22.5", "26.4", "18.4", "21.2", "26.0"],
                    &["Ska Sort (2017)", "24.1", "25.2", "31.5", "23.9", "25.9", "31.6"],
                    &["IPS4o (2017)", "21.8", "23.1", "27.6", "21.3", "22.4", "26.9"],
                    &["Regions Sort (2019)", "16.8", "19.3", "26.2", "25.3", "29.7", "38.6"],
                    &["std::sort (2019)", "9.5", "9.7", "11.6", "9.0", "9.2", "10.9"],
                    &["Intel TBB (2019)", "8.5", "8.6", "10.7", "8.0", "8.2", "10.1"],
                    &["Vortex Sort (2020)", "71", "84", "127", "68", "80", "121"],
                ],
            }],
            parts: &[Part::bars("sort")],
            found: None,
            without: Some(
                "Gorset, Columbia, Ska and Regions sort, and Vortex Sort itself, are in no registry that the benchmarks \
                install from. IPS4o and std::sort's successors run; so do the vectorised sorts that came later.",
            ),
            claims: &[
                Claim::new("Vortex Sort / IPS4o", SORTED, "sort", Target::must("eagre", 4.60, "ips4o").at("2^29")),
                Claim::new(
                    "Vortex Sort / the best other sort in place",
                    SORTED,
                    "sort",
                    Target::must_best(
                        "eagre",
                        4.03,
                        &["vqsort", "numpy", "x86-simd-sort", "ips4o", "pdqsort", "spreadsort", "std", "rdst-low"],
                    )
                    .at("2^29"),
                )
                .because("Vectorised quicksorts came after the paper; its best peer was Ska Sort."),
            ],
        },
        Section {
            name: "table-9",
            title: "Table 9: Vortex-S",
            asked: "What streams that share blocks and vanish as they are read give a sort, beside memory that is there.",
            published: &[],
            parts: &[Part::bars("vanish-read"), Part::bars("scatter"), Part::bars("sort-slack")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "table-10",
            title: "Table 10: sorting out of place",
            asked: "The rate of sorts that need a second array, beside Vortex Sort, which does not.",
            published: &[Published {
                about: "M keys/s, one thread, 8 GB of keys; 24 GB does not fit these sorts",
                source: README,
                columns: &["", "i7-3930K", "i7-4930K", "i7-7820X"],
                lines: &[
                    &["Reinald-Harris-Rohrer (2011)", "24.6", "24.7", "39.3"],
                    &["Columbia Sort, LSD (2014)", "23.8", "26.4", "42.0"],
                    &["Diverting Fast Radix (2016)", "19.2", "23.3", "34.0"],
                    &["RADULS (2017)", "25.2", "29.4", "41.0"],
                    &["RADULS2 (2017)", "43.6", "58.2", "67.0"],
                    &["Intel IPP (2019)", "9.3", "9.8", "42.3"],
                ],
            }],
            parts: &[Part::bars("sort").of(&["2^27"])],
            found: None,
            without: Some(
                "None of the paper's six is in a registry that the benchmarks install from; radsort, rdst and voracious are \
                radix sorts with a second array that are.",
            ),
            claims: &[Claim::new(
                "Vortex Sort / the best sort out of place",
                SORTED,
                "sort",
                Target::must_best("eagre", 1.90, &["radsort", "rdst", "voracious"]).at("2^27"),
            )],
        },
        Section {
            name: "table-11",
            title: "Table 11: speed-up factors",
            asked: "How many times as fast as the best other sort in place, by machine and size: \"3-4 times\" (abstract).",
            published: &[],
            parts: &[Part::bars("sort")],
            found: None,
            without: None,
            claims: &[
                Claim::new(
                    "the factor over the best prior sort in place",
                    "three machines",
                    "sort",
                    Target::must_best(
                        "eagre",
                        3.0,
                        &["vqsort", "numpy", "x86-simd-sort", "ips4o", "pdqsort", "spreadsort", "std", "rdst-low"],
                    )
                    .at("2^27"),
                )
                .up_to(4.0)
                .because("Vectorised quicksorts came after the paper."),
            ],
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of the table of a section.
    fn cell(section: &str, line: &str, column: &str) -> f64 {
        let section = PAPER.sections.iter().find(|other| other.name == section).unwrap();
        let table = &section.published[0];
        let at = table.columns.iter().position(|name| *name == column).unwrap();
        let line = table.lines.iter().find(|cells| cells[0] == line).unwrap();
        line[at].replace(',', "").parse().unwrap()
    }

    #[test]
    fn claims_are_the_quotients_of_published_numbers() {
        let two = "i7-7820X, two cores";
        let all = "i7-7820X, all";
        let files = |column| cell("table-3", "Vortex-C", column) / cell("table-3", "Linux mmap", column);
        let pipes = |peer, column| cell("table-4", "Vortex-C", column) / cell("table-4", peer, column);
        let sorts = |peer| cell("table-8", "Vortex Sort (2020)", "i7-7820X, 8 GB") / peer;
        let in_place = |line| sorts(cell("table-8", line, "i7-7820X, 8 GB"));
        for (section, quotients) in [
            ("table-3", &[files("SSD, read"), files("SSD, write")][..]),
            (
                "table-4",
                &[
                    pipes("Queue of blocks", two),
                    pipes("Queue of blocks", all),
                    pipes("Naiad", two),
                    pipes("Vortex-B", two),
                ],
            ),
            ("table-8", &[in_place("IPS4o (2017)"), in_place("Ska Sort (2017)")]),
            ("table-10", &[sorts(cell("table-10", "RADULS2 (2017)", "i7-7820X"))]),
        ] {
            let claims = PAPER.sections.iter().find(|other| other.name == section).unwrap().claims;
            for (claim, quotient) in claims.iter().zip(quotients) {
                let said = claim.target.must.unwrap();
                assert!((said - quotient).abs() < 0.006, "{section}: {}: {said}, {quotient}", claim.about);
            }
        }
    }
}
