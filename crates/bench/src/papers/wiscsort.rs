//! WiscSort: sorting files whose keys are apart from their values.

use super::{Claim, Paper, Part, Section};
use crate::catalogue::Target;

/// Sizes of values in bytes.
const VALUES: &[f64] = &[10.0, 50.0, 90.0, 256.0, 500.0, 1000.0];

const IN_MEMORY: &str = "A tmpfs punishes neither writes nor interference; the emulated devices of figure 11 do. Builds before \
    December 2026 also fetched records in sweeps over the input, to keep mapped pages of the tmpfs out of their count of memory.";

/// The work.
pub(super) const PAPER: Paper = Paper {
    name: "wiscsort",
    title: "WiscSort: External Sorting For Byte-Addressable Storage",
    cite: "Banakar, Wu, Patel, Keeton, A. Arpaci-Dusseau, R. Arpaci-Dusseau; PVLDB 16(9), 2023, pages 2103-2116",
    link: Some("https://www.vldb.org/pvldb/vol16/p2103-banakar.pdf"),
    numbers: "The factor of figure 4 is the abstract's (2-7 times as fast as competing approaches on a standard sort \
        benchmark). The figures' own numbers were not at hand.",
    sections: &[
        Section::missing(
            "figure-1",
            "Figure 1",
            "Not known here.",
            "The figure's text was not at hand, so no row claims to repeat it. The profile of a device with readers and writers \
            at the same time is what `eagre doctor DIR` measures.",
        ),
        Section::missing(
            "table-1",
            "Table 1",
            "Not known here.",
            "The table's text was not at hand, so no row claims to repeat it.",
        ),
        Section {
            name: "figure-4",
            title: "Figure 4: sorting the sort benchmark's records",
            asked: "The time to sort records of 100 bytes with keys of 10, by WiscSort in one pass and with a merge, external \
                merge sort, PMSort, PMSort+ and a sample sort in place, on persistent memory.",
            published: &[],
            parts: &[
                Part::bars("external-plans").of(&["tmpfs"]),
                Part::bars("external-cached"),
                Part::bars("external-records").of(&["4 GB, ext4"]),
            ],
            found: None,
            without: Some("Persistent memory: a tmpfs takes its place."),
            claims: &[
                Claim::new(
                    "WiscSort in one pass / PMSort",
                    "persistent memory",
                    "external-plans",
                    Target::must("one-pass", 2.0, "pmsort").at("tmpfs"),
                )
                .up_to(7.0)
                .because(IN_MEMORY),
                Claim::new(
                    "WiscSort in one pass / sample sort in place",
                    "persistent memory",
                    "external-plans",
                    Target::must("one-pass", 2.0, "sample-sort").at("tmpfs"),
                )
                .up_to(7.0)
                .because(IN_MEMORY),
                Claim::new(
                    "WiscSort in one pass / external merge sort",
                    "persistent memory",
                    "external-plans",
                    Target::must("one-pass", 2.0, "classic").at("tmpfs"),
                )
                .up_to(7.0)
                .because("A tmpfs punishes neither writes nor interference; the emulated devices of figure 11 do."),
            ],
        },
        Section {
            name: "figure-5",
            title: "Figure 5: bandwidth over time",
            asked: "What each sort reads and writes at which time, phase by phase.",
            published: &[],
            parts: &[Part::over_time("external-plans", &["tmpfs"])],
            found: None,
            without: Some("PMSort and the sample sort, which do not tell their phases."),
            claims: &[],
        },
        Section {
            name: "figure-6",
            title: "Figure 6: bandwidth over time, with interference",
            asked: "The same where reads slow down writes: an emulated device with all of the properties.",
            published: &[],
            parts: &[Part::over_time("external-plans", &["BRAID"])],
            found: None,
            without: Some(
                "The figure's own setting is not known here; this is the device on which the plans differ most.",
            ),
            claims: &[],
        },
        Section {
            name: "figure-7",
            title: "Figure 7: plans by device",
            asked: "Which way to sort wins on devices with other properties.",
            published: &[],
            parts: &[Part::beside("external-plans")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-8",
            title: "Figure 8: the ratio of keys to values",
            asked: "The rate of sorting as values grow beside keys of 10 bytes.",
            published: &[],
            parts: &[Part::curve("external-ratios", &[], "bytes of a value, keys of 10", VALUES)],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-9",
            title: "Figure 9: the ratio of keys to values, its ends",
            asked: "The smallest and the largest values.",
            published: &[],
            parts: &[Part::bars("external-ratios").of(&["10:10", "10:1000"])],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-10",
            title: "Figure 10: other programs on the device",
            asked: "The rate of sorting while other threads read or write there, by their number, and by who of the sort's own \
                threads reads and writes at the same time.",
            published: &[],
            parts: &[
                Part::curve(
                    "external-background",
                    &["1 reader", "2 readers", "4 readers", "8 readers"],
                    "other threads that read",
                    &[1.0, 2.0, 4.0, 8.0],
                ),
                Part::curve(
                    "external-background",
                    &["1 writer", "2 writers", "4 writers", "8 writers"],
                    "other threads that write",
                    &[1.0, 2.0, 4.0, 8.0],
                ),
                Part::beside("external-concurrency"),
            ],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "figure-11",
            title: "Figure 11: emulated devices",
            asked: "The plans and the ways to share the device, on devices that lack some of the properties (section 4.5).",
            published: &[],
            parts: &[
                Part::bars("external-plans").of(&["BD", "BRD", "BARD", "BRAID"]),
                Part::bars("external-concurrency").of(&["BARD", "BRAID"]),
            ],
            found: None,
            without: None,
            claims: &[],
        },
    ],
};
