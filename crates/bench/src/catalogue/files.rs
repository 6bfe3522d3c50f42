//! Rows about what users do with large files: read, write, count, find, statistics, copy.
//!
//! Every contender runs in a process of its own, so that memory and processor time are its own. A *library* contender
//! (`eagre`, `mmap`, ...) times itself, from before it opens the file until the answer is there and the file is closed;
//! a *program* (`wc`, `eagre-command`, ...) is timed from before its start to after its end.

use super::{
    Cache::{self, Cold, Warm},
    Case, Corpus, Entry, FileJob, GIB, KIB, Loop, MIB, Method,
    Place::{self, Disk, Memory},
    Program, Row, Target, Task, Unit, Way, Work,
};

const fn own(name: &'static str, method: Method, about: &'static str) -> Entry {
    Entry::new(name, Way::Own(method), about)
}

const fn program(name: &'static str, program: Program, about: &'static str) -> Entry {
    Entry::new(name, Way::Program(program), about)
}

const fn case(name: &'static str, job: FileJob, size: u64) -> Case {
    // Not a multiple of any block: the tail is worth checking.
    let quick = match job.corpus {
        Corpus::Stations => 200_000,
        Corpus::Keys { .. } => 100_000,
        _ => 8 * MIB + 4 * KIB + 8,
    };
    Case { name, work: Work::File(job), size, quick }
}

const fn job(task: Task, corpus: Corpus, place: Place, cache: Cache, threads: usize) -> FileJob {
    FileJob { task, corpus, place, cache, threads }
}

/// One occurrence in 8 MiB: a few hundred in all.
const RARE: Corpus = Corpus::Text { every: 8 * MIB };
/// One in each 4 KiB.
const FREQUENT: Corpus = Corpus::Text { every: 4 * KIB };

const DIRECT_READ: Entry = own("direct", Method::Direct, "O_DIRECT, one pread of 2 MiB after the other");
const EAGRE_COMMAND: &str = "eagre-command";
const WC: Entry = program("wc", Program::Wc, "wc -l");

const fn keys(keys: u32, zipf: bool, threads: usize) -> FileJob {
    job(Task::Keys, Corpus::Keys { keys, zipf }, Disk, Warm, threads)
}

/// The rows.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "read-file",
        about: "read a file that is not in the page cache and sum its words",
        source: "files at device speed, row 1: 0.95 of the best, 16 MiB, processor time 1.1 of O_DIRECT",
        unit: Unit::GigabytesPerSecond,
        cases: &[case("4 GiB, cold", job(Task::Sum, Corpus::Numbers, Disk, Cold, 1), 4 * GIB)],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the file as a source, its blocks summed in place"),
            own("eagre-pointer", Method::EagrePointer, "Eagre: the file as a source, summed through a plain pointer"),
            own("bufreader", Method::Buffered, "BufReader of 1 MiB, its buffer summed in place"),
            own("mmap", Method::Mapped, "mmap of the file with MADV_SEQUENTIAL"),
            DIRECT_READ,
            program(
                "fio-psync",
                Program::Fio { uring: false },
                "fio, O_DIRECT, one pread of 2 MiB at a time; does not look at the data",
            ),
            program(
                "fio-uring",
                Program::Fio { uring: true },
                "fio, O_DIRECT, io_uring, 8 requests of 2 MiB; does not look at the data",
            ),
        ],
        targets: &[
            Target::must_best("eagre", 0.95, &["bufreader", "mmap", "direct", "fio-psync", "fio-uring"]),
            Target::must_best("eagre-pointer", 0.95, &["bufreader", "mmap", "direct", "fio-psync", "fio-uring"]),
            Target::memory("eagre", 16.0),
            Target::memory("eagre-pointer", 16.0),
            Target::processor("eagre", 1.1, "direct"),
            Target::processor("eagre-pointer", 1.1, "direct"),
        ],
    },
    Row {
        name: "write-file",
        about: "write words to a new file and fsync it",
        source: "files at device speed, row 2: 0.95 of the best",
        unit: Unit::GigabytesPerSecond,
        cases: &[case("4 GiB, ext4", job(Task::Write, Corpus::Numbers, Disk, Cold, 1), 4 * GIB)],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the file as a sink, its blocks filled in place"),
            own("eagre-pointer", Method::EagrePointer, "Eagre: the file as a sink, filled through a plain pointer"),
            own("bufwriter", Method::Buffered, "BufWriter of 1 MiB, then fsync"),
            own("mmap", Method::Mapped, "ftruncate and mmap of the file, then msync and fsync"),
            own("direct", Method::Direct, "O_DIRECT, one pwrite of 2 MiB after the other, then fsync"),
        ],
        targets: &[
            Target::must_best("eagre", 0.95, &["bufwriter", "mmap", "direct"]),
            Target::must_best("eagre-pointer", 0.95, &["bufwriter", "mmap", "direct"]),
        ],
    },
    Row {
        name: "count-warm",
        about: "count the lines of a file that is in the page cache",
        source: "files at device speed, row 3: bytecount on a mapping, 1.4 of it with two threads, 0.85 of memory reads",
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("ext4, 1 thread", job(Task::Count, RARE, Disk, Warm, 1), 2 * GIB),
            case("ext4, 2 threads", job(Task::Count, RARE, Disk, Warm, 2), 2 * GIB),
            case("tmpfs, 1 thread", job(Task::Count, RARE, Memory, Warm, 1), 2 * GIB),
            case("tmpfs, 2 threads", job(Task::Count, RARE, Memory, Warm, 2), 2 * GIB),
        ],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the library"),
            program(EAGRE_COMMAND, Program::Eagre, "eagre count -l"),
            WC,
            own("bytecount", Method::Mapped, "the bytecount crate on a mapped file, one thread"),
            program("polars", Program::Polars, "polars.scan_csv(...).select(polars.len()); the import is not timed"),
            own("mapped-sum", Method::MappedSum, "not a count: sums the mapped file, the upper bound for mapped files"),
        ],
        targets: &[
            Target::must("eagre", 1.0, "bytecount").at("ext4, 1 thread"),
            Target::must("eagre", 1.4, "bytecount").at("ext4, 2 threads"),
            Target::must("eagre", 1.0, "bytecount").at("tmpfs, 1 thread"),
            Target::must("eagre", 1.4, "bytecount").at("tmpfs, 2 threads"),
            Target::roof("eagre", 0.85),
        ],
    },
    Row {
        name: "count-ladder",
        about: "count the lines of a file that is in the page cache, from the plainest loop to the bandwidth of a mapping, one thread",
        source: "a post on counting newlines: reported only",
        unit: Unit::GigabytesPerSecond,
        cases: &[case("1 GiB, ext4", job(Task::Count, RARE, Disk, Warm, 1), GIB)],
        contenders: &[
            own("lines", Method::Loop(Loop::Lines), "read of 1 MiB; line by line, each copied into a vector"),
            own("bytes", Method::Loop(Loop::Bytes), "read of 1 MiB; byte by byte, one comparison each"),
            WC,
            own("memchr", Method::Loop(Loop::Memchr), "read of 1 MiB; from newline to newline with the memchr crate"),
            own(
                "compiled",
                Method::Loop(Loop::Compiled),
                "read of 1 MiB; a loop over bytes that the compiler vectorises",
            ),
            own("bytecount-read", Method::Loop(Loop::Bytecount), "read of 1 MiB; the bytecount crate"),
            own("bytecount", Method::Mapped, "the bytecount crate on a mapped file"),
            own("eagre", Method::Eagre, "Eagre: the library"),
            own("mapped-sum", Method::MappedSum, "not a count: sums the mapped file, the upper bound for mapped files"),
        ],
        targets: &[],
    },
    Row {
        name: "count-cold",
        about: "count the lines of a file that is not in the page cache",
        source: "files at device speed, row 4: 0.95 of the best",
        unit: Unit::GigabytesPerSecond,
        cases: &[case("ext4", job(Task::Count, RARE, Disk, Cold, 1), 4 * GIB)],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the library"),
            program(EAGRE_COMMAND, Program::Eagre, "eagre count -l"),
            WC,
            own("direct", Method::Direct, "O_DIRECT, one pread of 2 MiB after the other, the bytecount crate on each"),
        ],
        targets: &[
            Target::must_best("eagre", 0.95, &["wc", "direct"]),
            Target::must_best(EAGRE_COMMAND, 0.95, &["wc", "direct"]),
        ],
    },
    Row {
        name: "find",
        about: "find all occurrences of a 16-byte pattern in a file that is in the page cache",
        source: "files at device speed, row 5: 0.95 of memchr::memmem on a mapping, faster than grep",
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("rare", job(Task::Find, RARE, Disk, Warm, 1), 2 * GIB),
            case("frequent", job(Task::Find, FREQUENT, Disk, Warm, 1), 2 * GIB),
        ],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the library"),
            program(EAGRE_COMMAND, Program::Eagre, "eagre find -b"),
            program("grep", Program::Grep, "grep -F -o -b"),
            program("rg", Program::Ripgrep, "rg -F -o -b, one thread"),
            own("memmem", Method::Mapped, "memchr::memmem on a mapped file"),
        ],
        targets: &[
            Target::must("eagre", 0.95, "memmem"),
            Target::must(EAGRE_COMMAND, 1.0, "grep"),
            Target::aim(EAGRE_COMMAND, 1.0, "rg"),
        ],
    },
    Row {
        name: "stats",
        about: "minimum, mean and maximum of each of 413 stations, 10^8 rows, in the page cache",
        source: "files at device speed, row 6: 60 M rows/s per core, 7 times polars",
        unit: Unit::MegarowsPerSecondPerCore,
        cases: &[
            case("1 thread", job(Task::Stats, Corpus::Stations, Disk, Warm, 1), 100_000_000),
            case("2 threads", job(Task::Stats, Corpus::Stations, Disk, Warm, 2), 100_000_000),
        ],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the library"),
            program(EAGRE_COMMAND, Program::Eagre, "eagre stats"),
            program("onebrc", Program::Onebrc, "C program written for this file format only"),
            program("polars", Program::Polars, "polars, streaming group_by; the import is not timed"),
            program("duckdb", Program::Duckdb, "duckdb, read_csv with named columns; the import is not timed"),
        ],
        targets: &[
            Target::rate("eagre", 60.0),
            Target::must("eagre", 7.0, "polars"),
            Target::aim("eagre", 1.0, "onebrc"),
        ],
    },
    Row {
        name: "stats-keys",
        about: "minimum, mean and maximum of each of many keys, sorted by key, 2 * 10^7 rows, in the page cache",
        source: "stats with many keys: 1.5 times the best of polars and duckdb, uniform and Zipf",
        unit: Unit::MegarowsPerSecondPerCore,
        cases: &[
            case("10^4 uniform, 1 thread", keys(10_000, false, 1), 20_000_000),
            case("10^4 uniform, 2 threads", keys(10_000, false, 2), 20_000_000),
            case("10^5 uniform, 2 threads", keys(100_000, false, 2), 20_000_000),
            case("10^6 uniform, 1 thread", keys(1_000_000, false, 1), 20_000_000),
            case("10^6 uniform, 2 threads", keys(1_000_000, false, 2), 20_000_000),
            case("10^6 Zipf, 1 thread", keys(1_000_000, true, 1), 20_000_000),
            case("10^6 Zipf, 2 threads", keys(1_000_000, true, 2), 20_000_000),
            case("10^7 uniform, 1 thread", keys(10_000_000, false, 1), 20_000_000),
            case("10^7 uniform, 2 threads", keys(10_000_000, false, 2), 20_000_000),
            case("10^7 Zipf, 2 threads", keys(10_000_000, true, 2), 20_000_000),
        ],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the library"),
            program(EAGRE_COMMAND, Program::Eagre, "eagre stats; its output is parsed"),
            program("polars", Program::Polars, "polars, streaming group_by and sort; the import is not timed"),
            program("duckdb", Program::Duckdb, "duckdb, read_csv into a sorted table; the import is not timed"),
        ],
        targets: &[
            Target::must_best("eagre", 1.5, &["polars", "duckdb"]),
            Target::must_best(EAGRE_COMMAND, 1.5, &["polars", "duckdb"]),
        ],
    },
    Row {
        name: "copy",
        about: "copy a file and sync the copy to the device; on ext4 the source is not in the page cache",
        source: "files at device speed, row 7: the best of cp and dd",
        unit: Unit::GigabytesPerSecond,
        cases: &[
            case("4 GB, ext4 to ext4", job(Task::Copy, Corpus::Numbers, Disk, Cold, 1), 4_000_000_000),
            case("4 GB, tmpfs to tmpfs", job(Task::Copy, Corpus::Numbers, Memory, Warm, 1), 4_000_000_000),
        ],
        contenders: &[
            own("eagre", Method::Eagre, "Eagre: the library"),
            program(EAGRE_COMMAND, Program::Eagre, "eagre copy"),
            program("cp", Program::Cp { sync: false }, "cp; does not sync the copy; no target"),
            program("cp-sync", Program::Cp { sync: true }, "cp, then sync of the copy"),
            program("dd", Program::Dd { direct: false }, "dd bs=2M conv=fsync"),
            program("dd-direct", Program::Dd { direct: true }, "dd bs=2M iflag=direct oflag=direct conv=fsync"),
        ],
        targets: &[
            Target::must_best("eagre", 1.0, &["cp-sync", "dd", "dd-direct"]).at("4 GB, ext4 to ext4"),
            Target::must_best("eagre", 1.0, &["cp", "dd", "dd-direct"]).at("4 GB, tmpfs to tmpfs"),
            Target::must_best(EAGRE_COMMAND, 1.0, &["cp-sync", "dd", "dd-direct"]).at("4 GB, ext4 to ext4"),
            Target::must_best(EAGRE_COMMAND, 1.0, &["cp", "dd", "dd-direct"]).at("4 GB, tmpfs to tmpfs"),
        ],
    },
];
