//! Profiles: measured, kept, read back, emulated.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::cached::{load_from, save_to};
use super::measure::{essential, full, take};
use super::text::parse;
use super::{Access, Emulated, Identity, LIFETIME, Measured, Profile, Step, Thoroughness};

/// A profile of a made-up device.
pub(super) fn made_up(in_memory: bool, measured: &[(Access, u64, u32, f64)]) -> Profile {
    let identity = Identity {
        major: u32::from(!in_memory) * 254,
        minor: 1,
        filesystem: if in_memory { "tmpfs" } else { "ext4" }.to_owned(),
        bytes: 1 << 40,
        in_memory,
        dax: false,
        direct: (!in_memory).then_some(512),
    };
    let measured = measured.iter().map(|&(access, request, depth, rate)| Measured::new(access, request, depth, rate));
    Profile { threads: 2, ..Profile::new(identity, Thoroughness::Full, measured.collect()) }
}

/// Measures with files of 16 MiB and no time at all: each thread makes one request.
fn in_passing(
    directory: &Path,
    thoroughness: Thoroughness,
    hook: &mut dyn FnMut(&Step) -> ControlFlow<()>,
) -> io::Result<Profile> {
    let cells = if thoroughness == Thoroughness::Full { full() } else { essential() };
    take(directory, &cells, thoroughness, 16 << 20, Duration::ZERO, hook)
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn everything_is_measured_and_nothing_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let mut steps = Vec::new();
    let profile = in_passing(directory.path(), Thoroughness::Full, &mut |step| {
        steps.push((step.done, step.of));
        ControlFlow::Continue(())
    });
    let profile = profile.unwrap();
    assert!(is_empty(directory.path()));
    for access in Access::ALL {
        assert!(profile.measured.iter().any(|measured| measured.access == access), "{access}");
    }
    assert!(profile.measured.iter().all(|measured| measured.rate > 0.0 && measured.rate.is_finite()));
    assert!(profile.measured.is_sorted_by(|a, b| {
        let key = |m: &Measured| (m.access, m.request, m.depth);
        key(a) < key(b)
    }));
    assert_eq!(parse(&profile.to_string()).as_ref(), Some(&profile));
    let count = full().len() as u32;
    assert_eq!(steps, (0..count).map(|done| (done, count)).collect::<Vec<_>>());
}

#[test]
fn a_probe_has_what_a_plan_needs() {
    let directory = tempfile::tempdir().unwrap();
    let profile = in_passing(directory.path(), Thoroughness::Probe, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(is_empty(directory.path()));
    use Access::{CachedGather, CachedRead, RandomRead, SequentialRead, SequentialWrite};
    for access in [SequentialRead, SequentialWrite, RandomRead, CachedRead, CachedGather] {
        assert!(profile.measured.iter().any(|measured| measured.access == access), "{access}");
    }
}

#[test]
fn the_hook_ends_a_measurement() {
    let directory = tempfile::tempdir().unwrap();
    let error = in_passing(directory.path(), Thoroughness::Full, &mut |step| {
        if step.done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert!(is_empty(directory.path()));
}

#[test]
fn errors_name_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = Profile::probe(&missing).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), format!("measure: {}: No such file or directory", missing.display()));
    assert!(Profile::load(&missing).is_err());
}

fn disk() -> Profile {
    made_up(
        false,
        &[
            (Access::SequentialRead, 1 << 20, 4, 1.2e9),
            (Access::SequentialWrite, 1 << 20, 4, 2e9),
            (Access::RandomRead, 4096, 16, 300e6),
            (Access::CachedGather, 100, 2, 2e9),
        ],
    )
}

#[test]
fn a_text_is_read_back_whole_or_not_at_all() {
    let emulated = Profile { emulated: Some("bd".to_owned()), ..disk() };
    for profile in [disk(), emulated] {
        let text = profile.to_string();
        assert_eq!(parse(&text).as_ref(), Some(&profile));
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), None, "{:?}", &text[..end]);
        }
    }
    let text = disk().to_string();
    for (from, to) in [("profile 1", "profile 2"), ("300000000", "-1"), ("random-read", "random-dead"), ("16", "0")] {
        assert_eq!(parse(&text.replace(from, to)), None, "{to}");
    }
}

#[test]
fn a_profile_is_kept_for_its_device_and_its_user() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("cache/eagre");
    let profile = disk();
    assert_eq!(load_from(&place, &profile.identity), None);
    // The second replaces the first.
    for _ in 0..2 {
        let path = save_to(&place, &profile).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    assert_eq!(load_from(&place, &profile.identity).as_ref(), Some(&profile));
    let other = Identity { bytes: 1 << 41, ..profile.identity.clone() };
    assert_eq!(load_from(&place, &other), None);
}

#[test]
fn stale_and_damaged_profiles_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let (fresh, place) = (disk(), directory.path());
    let old = Profile { taken: fresh.taken - LIFETIME.as_secs(), ..fresh.clone() };
    let of_tomorrow = Profile { taken: fresh.taken + 86400, ..fresh.clone() };
    let of_another_kernel = Profile { kernel: "2.6.32".to_owned(), ..fresh.clone() };
    for stale in [old, of_tomorrow, of_another_kernel] {
        save_to(place, &stale).unwrap();
        assert_eq!(load_from(place, &fresh.identity), None, "{stale}");
    }
    let path = save_to(place, &fresh).unwrap();
    assert!(load_from(place, &fresh.identity).is_some());
    fs::write(path, b"\xff\xfe").unwrap();
    assert_eq!(load_from(place, &fresh.identity), None);
}

#[test]
fn an_emulated_device_is_slower_where_its_model_is() {
    let base = disk();
    let of = |name: &str| name.parse::<Emulated>().unwrap().profile(&base);
    let rates = |profile: &Profile| {
        use Access::{CachedGather, RandomRead, SequentialRead, SequentialWrite};
        let of = |access, request, depth| profile.rate(access, request, depth);
        [
            of(SequentialRead, 1 << 20, 4),
            of(SequentialWrite, 1 << 20, 4),
            of(RandomRead, 4096, 16),
            of(CachedGather, 100, 2),
        ]
    };
    let (plain, bd, bard) = (rates(&base), rates(&of("bd")), rates(&of("bard")));
    let same = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!((0..4).all(|i| same(rates(&of("brd"))[i], plain[i])));
    assert!(same(bd[0], plain[0]) && same(bd[1], plain[1]) && bd[2] < plain[2]);
    // Two threads, each with 100 bytes in 2.05 microseconds and what they took before.
    assert!((80e6..100e6).contains(&bd[3]), "{}", bd[3]);
    assert!(same(bard[0], plain[0]) && same(bard[2], plain[2]) && same(bard[3], plain[3]));
    assert!(bard[1] < plain[1] / 2.0);
    let braid = of("braid");
    assert!(braid.rate(Access::ReadBesideWrite, 1 << 20, 4) < base.rate(Access::ReadBesideWrite, 1 << 20, 4) / 2.0);
    assert_eq!(braid.emulated.as_deref(), Some("braid"));
    assert_eq!(braid.save().unwrap(), None);
}

#[test]
fn what_a_profile_says_in_one_number() {
    let profile = made_up(
        false,
        &[
            (Access::SequentialRead, 1 << 20, 4, 1e9),
            (Access::SequentialWrite, 1 << 20, 4, 2e9),
            (Access::ReadBesideWrite, 1 << 20, 4, 0.8e9),
            (Access::WriteBesideRead, 1 << 20, 4, 0.4e9),
            (Access::RandomRead, 4096, 1, 50e6),
            (Access::RandomRead, 4096, 16, 300e6),
            (Access::RandomRead, 4096, 32, 310e6),
            (Access::RandomRead, 65536, 16, 900e6),
        ],
    );
    assert!((profile.overlap() - 1.0).abs() < 1e-9);
    assert_eq!(profile.depth(Access::RandomRead), 16);
    assert_eq!(profile.depth(Access::DurableWrite), 1);
    assert_eq!(profile.least_random_read(), 16384);
}
