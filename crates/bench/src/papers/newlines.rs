//! Counting newlines: how fast text can be looked at.

use super::{Claim, Paper, Part, Published, Section};
use crate::catalogue::Target;

/// The work.
pub(super) const PAPER: Paper = Paper {
    name: "newlines",
    title: "Counting newlines",
    cite: "a blog post: from wc to the speed of light; and the One Billion Row Challenge, 2024",
    link: Some("https://github.com/gunnarmorling/1brc"),
    numbers: "The post's numbers were not at hand. Those of the One Billion Row Challenge are from its README.",
    sections: &[
        Section {
            name: "ladder",
            title: "The ladder: from wc to the bandwidth of memory",
            asked: "The rate of counting the newlines of a file in the page cache, rung by rung; the highest rung is reading \
                memory and nothing else.",
            published: &[],
            parts: &[Part::bars("count-ladder"), Part::bars("count-warm")],
            found: None,
            without: Some("The post's own rungs, which are not known here: these are of this project."),
            claims: &[],
        },
        Section {
            name: "device",
            title: "The same from the device",
            asked: "The rate of counting the newlines of a file that is not in the page cache.",
            published: &[],
            parts: &[Part::bars("count-cold")],
            found: None,
            without: None,
            claims: &[],
        },
        Section {
            name: "1brc",
            title: "One billion rows",
            asked: "Minimum, mean and maximum of each of 413 stations: 10^9 rows in the challenge, 10^8 here.",
            published: &[Published {
                about: "seconds for 10^9 rows on eight cores of an AMD EPYC 7502P (Zen 2), and what that is for each core",
                source: "github.com/gunnarmorling/1brc, README.md: the three best of the challenge",
                columns: &["", "seconds", "M rows/s per core"],
                lines: &[
                    &["Wuerthinger, Mai, Peterssen", "1.535", "81.4"],
                    &["Korzun", "1.587", "78.8"],
                    &["Hamala", "1.608", "77.7"],
                ],
            }],
            parts: &[Part::bars("stats")],
            found: None,
            without: None,
            claims: &[Claim::new(
                "M rows/s for each core, the best of the challenge",
                "eight cores of an EPYC 7502P",
                "stats",
                Target::rate("eagre", 81.4).at("2 threads"),
            )
            .because("Another machine: compare with the C program written for this file alone, measured beside it.")],
        },
    ],
};
