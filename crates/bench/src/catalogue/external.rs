//! Rows about sorting files, most of them larger than the memory a sort may take.
//!
//! Everyone is timed until the result is on the device. Memory is limited by the program's own option and, on a device, by a
//! control group of 64 MiB more.

use super::{
    Background, Baseline,
    Budget::{self, Ample, Quarter},
    Cache::{self, Cold, Warm},
    Case, Data, Emulated, Entry, FileSort, Kernel, MIB,
    Place::{self, Disk, Memory},
    Row, Sorter, Target, Unit, Way, Work,
};

/// What the names of these rows begin with.
pub(crate) const PREFIX: &str = "external";

const GB: u64 = 1_000_000_000;

const fn entry(name: &'static str, sorter: Sorter, about: &'static str) -> Entry {
    Entry::new(name, Way::FileSort(sorter), about)
}

const fn model(name: &'static str, about: &'static str) -> Entry {
    entry(name, Sorter::EagreOnePass(name), about)
}

const EAGRE: Entry = entry("eagre", Sorter::Eagre(None), "eagre sort, which chooses its plan");
const ONE_PASS: Entry = entry("one-pass", Sorter::Eagre(Some("one-pass")), "eagre sort --plan one-pass");
const MERGE_PASS: Entry = entry("merge-pass", Sorter::Eagre(Some("merge-pass")), "eagre sort --plan merge-pass");
const CLASSIC: Entry = entry("classic", Sorter::Eagre(Some("classic")), "eagre sort --plan classic: whole records");
const NO_SYNC: Entry = model("no-sync", "eagre sort --plan one-pass --concurrency no-sync: all read and write");
const OVERLAP: Entry = model("overlap", "eagre sort --plan one-pass --concurrency overlap: as many as are best");
const AWARE: Entry = model("aware", "eagre sort --plan one-pass --concurrency aware: nobody reads while others write");
const AUTO: Entry = model("auto", "eagre sort --plan one-pass --concurrency auto: what suits the device");
const GNU: Entry = entry("sort", Sorter::Gnu, "LC_ALL=C sort, then sync; of the ASCII form where records are sorted");
const STXXL: Entry = entry("stxxl", Sorter::Stxxl, "stxxl::stream::sort from file to file");
const EXTSORT: Entry = entry("extsort", Sorter::Extsort, "the extsort crate, whose segments take the memory there is");
const DUCKDB: Entry = entry("duckdb", Sorter::Duckdb, "duckdb, ORDER BY from parquet to parquet, neither compressed");
const POLARS: Entry = entry("polars", Sorter::Polars, "polars, streaming sort from parquet to parquet, as duckdb");
const PMSORT: Entry =
    entry("pmsort", Sorter::Baseline(Baseline::PmSort), "PMSort: keys and pointers in runs; one thread");
const PMSORT_PLUS: Entry = entry(
    "pmsort+",
    Sorter::Baseline(Baseline::PmSortPlus { overlap: false }),
    "PMSort+: several threads, writes between reads",
);
const PMSORT_OVERLAP: Entry = entry(
    "pmsort+overlap",
    Sorter::Baseline(Baseline::PmSortPlus { overlap: true }),
    "PMSort+: several threads, writes at the same time as reads",
);
const SAMPLE_SORT: Entry =
    entry("sample-sort", Sorter::Baseline(Baseline::SampleSort), "a copy of the file, sorted in place by samples");
const TWO_PASSES: Entry =
    entry("two-passes", Sorter::TwoPasses, "not a sort: reads and writes all bytes twice with O_DIRECT, the ceiling");

const fn file(data: Data, place: Place, cache: Cache, budget: Budget) -> FileSort {
    FileSort { data, place, cache, budget, threads: 2, background: None, device: None, long: false, rounds: 5 }
}

const fn case(name: &'static str, sort: FileSort, size: u64) -> Case {
    let item = sort.data.item();
    // Whole records; of lines that many bytes.
    Case { name, work: Work::FileSort(sort), size: size / item * item, quick: 1_000_000 / item * item }
}

/// What Eagre may take: its budget and a little, in MiB.
const fn little_more(budget: u64) -> f64 {
    budget as f64 / MIB as f64 + 32.0
}

const fn plans(name: &'static str, device: Option<Emulated>) -> Case {
    let sort = FileSort { device, rounds: 7, ..file(Data::Records, Memory, Warm, Quarter) };
    case(name, sort, 400_000_000)
}

const fn beside(name: &'static str, threads: usize, writes: bool) -> Case {
    let background = Some(Background { threads, writes });
    let sort = FileSort { background, rounds: 7, ..file(Data::Records, Memory, Warm, Quarter) };
    case(name, sort, 400_000_000)
}

const fn ratio(name: &'static str, value: u32) -> Case {
    case(name, FileSort { rounds: 7, ..file(Data::Fixed { value }, Memory, Warm, Quarter) }, 400_000_000)
}

const SOURCE: &str = "the targets for sorting files of any size";

/// Who sorts records.
const RECORD_PEERS: &[&str] = &["sort", "duckdb", "polars", "stxxl", "extsort"];

/// Who sorts numbers.
const NUMBER_PEERS: &[&str] = &["duckdb", "polars", "stxxl", "extsort"];

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "external-records",
        about: "sort records of 100 bytes that are not in the page cache, in a quarter of their size",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("4 GB, ext4", file(Data::Records, Disk, Cold, Quarter), 4 * GB),
            case(
                "16 GB, ext4",
                FileSort { long: true, rounds: 3, ..file(Data::Records, Disk, Cold, Quarter) },
                16 * GB,
            ),
        ],
        contenders: &[EAGRE, TWO_PASSES, GNU, DUCKDB, POLARS, STXXL, EXTSORT],
        targets: &[
            Target::must("eagre", 0.75, "two-passes"),
            Target::must_best("eagre", 2.0, RECORD_PEERS),
            Target::aim("eagre", 4.0, "duckdb"),
            Target::aim("eagre", 6.0, "sort"),
            Target::memory("eagre", little_more(GB)).at("4 GB, ext4"),
            Target::memory("eagre", little_more(4 * GB)).at("16 GB, ext4"),
        ],
    },
    Row {
        name: "external-cached",
        about: "sort records of 100 bytes that are in the page cache, in a quarter of their size",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("4 GB, ext4", file(Data::Records, Disk, Warm, Quarter), 4 * GB),
            case("2 GB, tmpfs", file(Data::Records, Memory, Warm, Quarter), 2 * GB),
        ],
        contenders: &[EAGRE, ONE_PASS, GNU, DUCKDB, POLARS, STXXL, EXTSORT],
        targets: &[
            Target::must_best("eagre", 5.0, RECORD_PEERS),
            Target::memory("eagre", little_more(GB)).at("4 GB, ext4"),
        ],
    },
    Row {
        name: "external-plans",
        about: "sort records of 100 bytes on a tmpfs, by plan, as it is and as if it were another device",
        source: "WiscSort, figures 4, 7 and 11: the paper's order where the device has the property",
        unit: Unit::GigabytesPerSecond,
        cases: &[
            plans("tmpfs", None),
            plans("BD", Some(Emulated::Bd)),
            plans("BRD", Some(Emulated::Brd)),
            plans("BARD", Some(Emulated::Bard)),
            plans("BRAID", Some(Emulated::Braid)),
        ],
        contenders: &[EAGRE, ONE_PASS, MERGE_PASS, CLASSIC, PMSORT, PMSORT_PLUS, PMSORT_OVERLAP, SAMPLE_SORT],
        targets: &[
            // The planner takes the plan that wins: what it loses is the time to choose.
            Target::must_best("eagre", 0.9, &["one-pass", "merge-pass", "classic"]),
            Target::must("one-pass", 1.0, "merge-pass").at("BRD"),
            Target::must("one-pass", 1.0, "merge-pass").at("BARD"),
            Target::must("one-pass", 1.0, "merge-pass").at("BRAID"),
            Target::must("merge-pass", 1.0, "classic").at("BARD"),
            Target::must("merge-pass", 1.0, "classic").at("BRAID"),
        ],
    },
    Row {
        name: "external-concurrency",
        about: "sort records of 100 bytes on a tmpfs with plan one-pass, by who reads and writes at the same time",
        source: "WiscSort, figures 10 and 11: interference is avoided where the device has it",
        unit: Unit::GigabytesPerSecond,
        cases: &[plans("tmpfs", None), plans("BARD", Some(Emulated::Bard)), plans("BRAID", Some(Emulated::Braid))],
        contenders: &[AUTO, NO_SYNC, OVERLAP, AWARE],
        targets: &[
            Target::must_best("auto", 0.9, &["no-sync", "overlap", "aware"]),
            Target::must("aware", 1.0, "no-sync").at("BRAID"),
        ],
    },
    Row {
        name: "external-background",
        about: "sort records of 100 bytes on a tmpfs while other threads read or write files there",
        source: "WiscSort, figure 10",
        unit: Unit::GigabytesPerSecond,
        cases: &[
            beside("1 reader", 1, false),
            beside("2 readers", 2, false),
            beside("4 readers", 4, false),
            beside("8 readers", 8, false),
            beside("1 writer", 1, true),
            beside("2 writers", 2, true),
            beside("4 writers", 4, true),
            beside("8 writers", 8, true),
        ],
        contenders: &[EAGRE, ONE_PASS, MERGE_PASS, CLASSIC],
        targets: &[],
    },
    Row {
        name: "external-ratios",
        about: "sort records with keys of 10 bytes on a tmpfs, by the size of the values",
        source: "WiscSort, figures 8 and 9",
        unit: Unit::GigabytesPerSecond,
        cases: &[
            ratio("10:10", 10),
            ratio("10:50", 50),
            ratio("10:90", 90),
            ratio("10:256", 256),
            ratio("10:500", 500),
            ratio("10:1000", 1000),
        ],
        contenders: &[EAGRE, ONE_PASS, MERGE_PASS, CLASSIC],
        targets: &[],
    },
    Row {
        name: "external-lines",
        about: "sort lines of words by their bytes",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("4 GB in 1 GB, cold", file(Data::Lines, Disk, Cold, Quarter), 4 * GB),
            case("1 GB in memory", file(Data::Lines, Disk, Warm, Ample), GB),
        ],
        contenders: &[EAGRE, GNU],
        targets: &[
            Target::must("eagre", 4.0, "sort"),
            Target::memory("eagre", little_more(GB)).at("4 GB in 1 GB, cold"),
        ],
    },
    Row {
        name: "external-csv",
        about: "sort rows of comma-separated fields by the number in the second: -t, -k2,2n",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("4 GB in 1 GB, cold", file(Data::Table, Disk, Cold, Quarter), 4 * GB),
            case("1 GB in memory", file(Data::Table, Disk, Warm, Ample), GB),
        ],
        contenders: &[EAGRE, GNU],
        targets: &[Target::must("eagre", 4.0, "sort")],
    },
    Row {
        name: "external-unique",
        about: "sort lines of which a thousand are distinct, and write each once: -u",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("4 GB in 1 GB, cold", file(Data::Few, Disk, Cold, Quarter), 4 * GB),
            case("1 GB in memory", file(Data::Few, Disk, Warm, Ample), GB),
        ],
        contenders: &[EAGRE, GNU],
        targets: &[Target::must("eagre", 4.0, "sort")],
    },
    Row {
        name: "external-numbers",
        about: "sort random 64-bit numbers that are not in the page cache, in a quarter of their size",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[case("4 GB, ext4", file(Data::Words, Disk, Cold, Quarter), 4 * GB)],
        contenders: &[EAGRE, TWO_PASSES, DUCKDB, POLARS, STXXL, EXTSORT],
        targets: &[
            Target::must("eagre", 0.75, "two-passes"),
            Target::must_best("eagre", 2.0, NUMBER_PEERS),
            Target::aim("eagre", 4.0, "duckdb"),
            Target::memory("eagre", little_more(GB)),
        ],
    },
    Row {
        name: "external-memory",
        about: "sort 10^7 records of 100 bytes in memory with one thread",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[kernel("10^7", false)],
        contenders: &[
            Entry::new("eagre", Way::Kernel(Kernel::Eagre), "Eagre: sort_and_partition into one part"),
            Entry::new("records", Way::Kernel(Kernel::Records), "slice::sort_unstable of the records, in place"),
            Entry::new(
                "index",
                Way::Kernel(Kernel::Index),
                "slice::sort_unstable of keys with positions, then a gather",
            ),
        ],
        targets: &[Target::must("eagre", 2.5, "records"), Target::must("eagre", 1.5, "index")],
    },
    Row {
        name: "external-merge",
        about: "merge ten sorted runs of 10^6 records of 100 bytes in memory with one thread",
        source: SOURCE,
        unit: Unit::GigabytesPerSecond,
        cases: &[kernel("10 runs", true)],
        contenders: &[
            Entry::new("eagre", Way::Kernel(Kernel::Eagre), "Eagre: Merge"),
            Entry::new("heap", Way::Kernel(Kernel::Heap), "BinaryHeap of keys, whose top is replaced"),
        ],
        targets: &[Target::must("eagre", 2.5, "heap")],
    },
    Row {
        name: "external-gensort",
        about: "generate and check records of the sort benchmark in memory",
        source: SOURCE,
        unit: Unit::GigabytesPerSecondPerCore,
        cases: &[
            gensort("generate, 1 thread", false, 1),
            gensort("generate, 2 threads", false, 2),
            gensort("check, 1 thread", true, 1),
            gensort("check, 2 threads", true, 2),
        ],
        contenders: &[Entry::new("eagre", Way::Gensort, "Eagre: the library")],
        targets: &[
            Target::rate("eagre", 1.0).at("generate, 1 thread"),
            Target::rate("eagre", 1.0).at("generate, 2 threads"),
            Target::rate("eagre", 2.0).at("check, 1 thread"),
            Target::rate("eagre", 2.0).at("check, 2 threads"),
        ],
    },
];

const fn kernel(name: &'static str, merge: bool) -> Case {
    Case { name, work: Work::Kernel { merge }, size: GB, quick: 1_000_000 }
}

const fn gensort(name: &'static str, check: bool, threads: usize) -> Case {
    Case { name, work: Work::Gensort { check, threads }, size: GB, quick: 1_000_000 }
}
