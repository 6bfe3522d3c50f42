//! The plans are ranked as measurements rank them: where the winner is known, it is predicted.

use super::cost::{Devices, Estimate, Job, Limit, Processor, Way, predict, rank};
use super::tests::made_up;
use super::{Access, Emulated, Profile};

const GB: u64 = 1_000_000_000;

/// A virtual disk: writes are faster than reads, random reads are slow, overlapping gains nothing.
fn disk() -> Profile {
    made_up(
        false,
        &[
            (Access::SequentialRead, 1 << 20, 4, 1.2e9),
            (Access::SequentialWrite, 1 << 20, 4, 2e9),
            (Access::ReadBesideWrite, 1 << 20, 4, 0.96e9),
            (Access::WriteBesideRead, 1 << 20, 4, 0.4e9),
            (Access::RandomRead, 4096, 16, 295e6),
            (Access::RandomRead, 65536, 16, 1.1e9),
            (Access::CachedRead, 262144, 2, 8e9),
            (Access::CachedGather, 16, 2, 0.4e9),
            (Access::CachedGather, 100, 2, 2.4e9),
            (Access::CachedGather, 1024, 2, 8e9),
        ],
    )
}

/// A file system in memory.
fn memory() -> Profile {
    made_up(
        true,
        &[
            (Access::SequentialRead, 1 << 20, 4, 8e9),
            (Access::SequentialWrite, 1 << 20, 1, 2e9),
            (Access::SequentialWrite, 1 << 20, 2, 3.5e9),
            (Access::RandomRead, 512, 1, 0.8e9),
            (Access::RandomRead, 512, 4, 1.6e9),
            (Access::RandomRead, 4096, 1, 4e9),
            (Access::RandomRead, 4096, 4, 8e9),
            (Access::CachedRead, 262144, 1, 4e9),
            (Access::CachedRead, 262144, 2, 8e9),
            (Access::CachedGather, 16, 2, 0.4e9),
            (Access::CachedGather, 100, 2, 2.4e9),
            (Access::CachedGather, 1024, 2, 8e9),
        ],
    )
}

/// 4 GB of records of the sort benchmark in 1 GB of memory, cold.
fn job() -> Job {
    Job {
        input: 4 * GB,
        record: 100.0,
        key: 10,
        memory: GB,
        threads: 2,
        cached: 0.0,
        page_cache: 0,
        strided: true,
        text: false,
    }
}

fn ranked(job: &Job, profile: &Profile) -> Vec<Estimate> {
    rank(job, &Devices::one(profile), &Processor::default())
}

fn winner(job: &Job, profile: &Profile) -> Way {
    ranked(job, profile)[0].way
}

fn seconds(way: Way, job: &Job, profile: &Profile) -> f64 {
    predict(way, job, &Devices::one(profile), &Processor::default()).unwrap().seconds()
}

#[test]
fn small_records_from_a_cold_disk_are_sorted_in_runs() {
    assert_eq!(winner(&job(), &disk()), Way::Classic);
    // Single records from a disk are hopeless.
    assert!(seconds(Way::OnePass, &job(), &disk()) > 10.0 * seconds(Way::Classic, &job(), &disk()));
}

#[test]
fn small_records_in_the_page_cache_are_gathered() {
    let cached = Job { cached: 1.0, ..job() };
    assert_eq!(winner(&cached, &disk()), Way::OnePass);
    // The cache keeps what reading the keys has brought there.
    let kept = Job { page_cache: 8 * GB, ..job() };
    assert_eq!(winner(&kept, &disk()), Way::OnePass);
    assert!(seconds(Way::OnePass, &kept, &disk()) > seconds(Way::OnePass, &cached, &disk()));
    // What half of the file costs from the disk is too much.
    assert_eq!(winner(&Job { cached: 0.5, ..job() }, &disk()), Way::Classic);
}

#[test]
fn large_values_stay_where_they_are_on_byte_addressable_storage() {
    let large = Job { record: 1000.0, memory: GB / 4, ..job() };
    assert_eq!(winner(&large, &memory()), Way::OnePass);
    // Entries of 16 bytes no longer fit.
    let little = Job { memory: GB / 32, ..large };
    assert_eq!(winner(&little, &memory()), Way::MergePass);
    assert_eq!(predict(Way::OnePass, &little, &Devices::one(&memory()), &Processor::default()), None);
}

#[test]
fn records_of_files_in_memory_stay_where_they_are_unless_words_are_as_large() {
    assert_eq!(winner(&job(), &memory()), Way::OnePass);
    assert_eq!(winner(&Job { record: 16.0, ..job() }, &memory()), Way::Classic);
}

#[test]
fn large_records_are_gathered_from_a_disk_as_well() {
    // At 16 MB a record, random reads are sequential ones.
    let huge = Job { record: 16e6, input: 64 * GB, ..job() };
    assert_eq!(winner(&huge, &disk()), Way::OnePass);
}

#[test]
fn what_fits_in_memory_is_sorted_there() {
    let fits = Job { memory: 8 * GB, ..job() };
    assert_eq!(winner(&fits, &disk()), Way::InMemory);
    assert!(ranked(&job(), &disk()).iter().all(|estimate| estimate.way != Way::InMemory));
}

#[test]
fn emulated_devices_change_the_choice() {
    let of = |name: &str| name.parse::<Emulated>().unwrap().profile(&memory());
    let large = Job { record: 500.0, ..job() };
    for name in ["brd", "bard", "braid"] {
        assert!(matches!(winner(&large, &of(name)), Way::OnePass | Way::MergePass), "{name}");
    }
    assert_eq!(winner(&job(), &of("brd")), winner(&job(), &memory()));
    // Random reads that move blocks are worse than writing everything twice.
    assert_eq!(winner(&large, &of("bd")), Way::Classic);
    // With slow writes, writing once saves more time.
    let lead = |profile: &Profile| seconds(Way::Classic, &job(), profile) - seconds(Way::OnePass, &job(), profile);
    assert!(lead(&of("bard")) > lead(&of("brd")));
    let little = Job { memory: GB / 8, record: 1000.0, ..job() };
    assert!(matches!(winner(&little, &of("braid")), Way::OnePass | Way::MergePass));
}

#[test]
fn phases_count_the_bytes_that_move() {
    let (disk, job) = (disk(), job());
    let classic = predict(Way::Classic, &job, &Devices::one(&disk), &Processor::default()).unwrap();
    let moved: Vec<_> = classic.phases.iter().map(|phase| (phase.read, phase.written)).collect();
    assert_eq!(moved, [(4 * GB, 4 * GB); 2]);
    // Two passes at the speed of the disk: 4 GB at 1.2, and 4 GB at 2 GB/s, twice.
    assert!((classic.seconds() - 2.0 * (4.0 / 1.2 + 4.0 / 2.0)).abs() < 0.01, "{}", classic.seconds());
    assert!(classic.phases.iter().all(|phase| phase.limit == Limit::Device));
    // So little memory that runs are merged in several passes.
    let little = Job { memory: 16 << 20, ..job.clone() };
    let passes = predict(Way::Classic, &little, &Devices::one(&disk), &Processor::default()).unwrap().phases.len();
    assert!(passes > 3, "{passes}");
    let merge = predict(Way::MergePass, &Job { cached: 1.0, ..job }, &Devices::one(&disk), &Processor::default());
    let entries = 4 * GB / 100 * 16;
    assert_eq!(merge.unwrap().phases.iter().map(|phase| phase.written).sum::<u64>(), entries + 4 * GB);
}

#[test]
fn two_devices_work_at_the_same_time() {
    let (one, mut other) = (disk(), disk());
    other.identity.minor += 1;
    let devices = Devices { input: &one, temporary: &other, output: &one };
    let apart = predict(Way::Classic, &job(), &devices, &Processor::default()).unwrap().seconds();
    assert!(apart < 0.8 * seconds(Way::Classic, &job(), &one));
}

#[test]
fn degenerate_jobs_have_finite_times() {
    let odd = Job { input: 0, record: 0.0, key: 0, memory: 0, threads: 0, cached: 7.0, text: true, ..job() };
    for profile in [disk(), memory(), made_up(false, &[])] {
        for job in [&odd, &Job { input: u64::MAX, ..odd.clone() }] {
            for estimate in ranked(job, &profile) {
                assert!(estimate.seconds().is_finite(), "{estimate:?}");
            }
        }
    }
}
