//! `eagre sort` against the standard library and numpy; and that nothing is lost or half-written whatever happens.
#![forbid(unsafe_code)]

mod common;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{bytes, eagre, names, numbers, on_a_small_disk, parts};

/// Runs `eagre sort`, and returns code, output and complaints.
fn sort(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).arg("sort").args(arguments).output().unwrap())
}

#[track_caller]
fn assert_sorts(folder: &Path, arguments: &[&str]) {
    assert_eq!(sort(folder, arguments), (0, String::new(), String::new()), "{arguments:?}");
}

/// Every type, with what the standard library makes of the same bytes.
#[test]
fn every_type_like_the_standard_library() {
    let folder = tempfile::tempdir().unwrap();
    let noise: Vec<u8> = bytes(&numbers(40_000));
    let check = |name: &str, input: &[u8], wanted: &[u8]| {
        fs::write(folder.path().join("a"), input).unwrap();
        assert_sorts(folder.path(), &["--keys", name, "a", "-o", "b"]);
        assert!(fs::read(folder.path().join("b")).unwrap() == wanted, "{name}");
        assert_sorts(folder.path(), &["--keys", name, "--check", "b"]);
    };
    macro_rules! number {
        ($($type:ident by $order:expr;)*) => {
            $({
                let (chunks, _) = noise.as_chunks::<{ size_of::<$type>() }>();
                let mut keys: Vec<$type> = chunks.iter().map(|&bytes| $type::from_le_bytes(bytes)).collect();
                keys.sort_by($order);
                let wanted: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
                check(stringify!($type), &noise, &wanted);
            })*
        };
    }
    number! {
        u8 by Ord::cmp; i8 by Ord::cmp; u16 by Ord::cmp; i16 by Ord::cmp;
        u32 by Ord::cmp; i32 by Ord::cmp; f32 by f32::total_cmp;
        u64 by Ord::cmp; i64 by Ord::cmp; f64 by f64::total_cmp;
        u128 by Ord::cmp; i128 by Ord::cmp;
    }
    macro_rules! pair {
        ($($type:ident)*) => {
            $({
                let (chunks, _) = noise.as_chunks::<{ size_of::<$type>() }>();
                // Few first parts, so that the second ones matter.
                let keys = chunks.iter().map(|&bytes| $type::from_le_bytes(bytes));
                let parts: Vec<$type> = keys.enumerate().map(|(i, key)| if i % 2 == 0 { key % 7 } else { key }).collect();
                let mut pairs: Vec<[$type; 2]> = parts.as_chunks().0.to_vec();
                let encode = |pairs: &[[$type; 2]]| -> Vec<u8> {
                    pairs.as_flattened().iter().flat_map(|part| part.to_le_bytes()).collect()
                };
                let input = encode(&pairs);
                pairs.sort();
                check(concat!(stringify!($type), ":", stringify!($type)), &input, &encode(&pairs));
            })*
        };
    }
    pair!(u32 u64);
}

#[test]
fn floating_point_numbers_like_numpy() {
    let folder = tempfile::tempdir().unwrap();
    // numpy puts NaNs behind all numbers and does not part the zeros, so there are none of either.
    let script = "import numpy as np\n\
                  a = np.random.default_rng(3).normal(size=100_001)\n\
                  a[:3] = [np.inf, -np.inf, 5e-324]\n\
                  a.tofile('a'); np.sort(a).tofile('numpy')\n";
    let python = Command::new("python3").args(["-c", script]).current_dir(folder.path()).output();
    if !python.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: no python3 with numpy");
    }
    assert_sorts(folder.path(), &["--keys", "f64", "a", "-o", "b"]);
    assert!(fs::read(folder.path().join("b")).unwrap() == fs::read(folder.path().join("numpy")).unwrap());
}

/// As numbers and as records, in memory and in runs, in both directions, and by their index.
#[test]
fn nan_come_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let special = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(0x7ff0_0000_0000_0001)];
    // There is one right output but for the order of NaN.
    let mut numbers: Vec<f64> = (0..2_200_000_u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761)) - 2e9).collect();
    for (number, place) in special.iter().cycle().zip((0..numbers.len()).step_by(1000)) {
        numbers[place] = *number;
    }
    let encoded: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(path("a"), &encoded).unwrap();
    let nan = numbers.iter().filter(|number| number.is_nan()).count();
    let mut wanted: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    wanted.sort_by(f64::total_cmp);
    let is_wanted = |bytes: &[u8], wanted: &[f64]| {
        let (found, rest) = bytes.as_chunks();
        let found: Vec<f64> = found.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
        let (front, back) = found.split_at(wanted.len());
        rest.is_empty() && front == wanted && back.len() == nan && back.iter().all(|number| number.is_nan())
    };
    let numbers = &["--keys", "f64"][..];
    let records = &["--record", "8", "-k", "0:f64"][..];
    for reverse in [&[][..], &["-r"]] {
        for how in [numbers, records] {
            for memory in ["16M", "256M"].into_iter().take(if how == numbers { 2 } else { 1 }) {
                let options = [&["--nan-last", "--memory", memory, "--verify"], how, reverse].concat();
                assert_sorts(folder.path(), &[&options[..], &["a", "-o", "b"]].concat());
                assert!(is_wanted(&fs::read(path("b")).unwrap(), &wanted), "{options:?}");
            }
            assert_sorts(folder.path(), &[how, reverse, &["--nan-last", "-c", "b"]].concat());
            assert_eq!(sort(folder.path(), &[how, reverse, &["-C", "b"]].concat()).0, 1, "{how:?} {reverse:?}");
            assert_sorts(folder.path(), &[how, reverse, &["--nan-last", "--index", "a", "-o", "i"]].concat());
            let made = eagre().args(["gather", "i", "a", "-o", "b"]).current_dir(folder.path()).status().unwrap();
            assert!(
                made.success() && is_wanted(&fs::read(path("b")).unwrap(), &wanted),
                "by index: {how:?} {reverse:?}"
            );
            let check = |last: &[&str]| {
                let options = [&["check", "--json", "b"], how, reverse, last].concat();
                eagre().args(options).current_dir(folder.path()).output().unwrap().status.code()
            };
            assert_eq!((check(&["--nan-last"]), check(&[])), (Some(0), Some(1)), "{how:?} {reverse:?}");
        }
        wanted.reverse();
    }
    assert_sorts(folder.path(), &["--keys", "f64", "--nan-last", "-u", "a", "-o", "b"]);
    // Of NaN, and of each infinity, one is left.
    wanted.dedup();
    assert_eq!(fs::metadata(path("b")).unwrap().len(), 8 * (wanted.len() as u64 + 1));
}

#[test]
fn nan_come_last_of_floating_point_keys_only() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), [0; 8]).unwrap();
    for format in [&["--keys", "u64"][..], &["--record", "8"], &["--record", "8", "-k", "0:u64"], &["--gensort"], &[]] {
        let why = "eagre: sort: --nan-last: no key is a floating-point number; use it with --keys f32 or f64, or with such a \
                   key of a --record\n";
        let options = [&["--nan-last", "a"], format].concat();
        assert_eq!(sort(folder.path(), &options), (2, String::new(), why.to_owned()), "{format:?}");
    }
}

/// Sizes around the borders of blocks, with every way to ask for something else.
#[test]
fn sizes_and_options() {
    let folder = tempfile::tempdir().unwrap();
    for count in [0, 1, 2, 1000, (2 << 20) / 8 - 1, (2 << 20) / 8, (2 << 20) / 8 + 1, 700_001] {
        let mut keys: Vec<u64> = numbers(count).into_iter().map(|number| number % 300_000).collect();
        fs::write(folder.path().join("a"), bytes(&keys)).unwrap();
        keys.sort();
        let mut unique = keys.clone();
        unique.dedup();
        let (mut down, mut down_unique) = (keys.clone(), unique.clone());
        down.reverse();
        down_unique.reverse();
        let few = |keys: &[u64]| keys[..keys.len().min(100)].to_vec();
        for (options, wanted) in [
            (&[][..], &keys),
            (&["-r"], &down),
            (&["-u"], &unique),
            (&["-ru"], &down_unique),
            (&["--head", "100"], &few(&keys)),
            (&["--top=100", "-r"], &few(&down)),
            (&["--head=100", "-ru"], &few(&down_unique)),
            (&["--head", "0"], &vec![]),
            (&["-j", "1", "--slack", "0"], &keys),
            (&["-j", "3", "--slack", "3M"], &keys),
        ] {
            assert_sorts(folder.path(), &[&["--keys", "u64", "a", "-o", "b"], options].concat());
            assert!(fs::read(folder.path().join("b")).unwrap() == bytes(wanted), "{count} keys, {options:?}");
        }
    }
}

/// Pairs by their first part, against the standard library's stable sort.
#[test]
fn pairs_by_their_first_part() {
    let folder = tempfile::tempdir().unwrap();
    let decode = |bytes: &[u8]| -> Vec<[u64; 2]> {
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|&b: &[u8; 16]| [0, 8].map(|i| u64::from_le_bytes(*b[i..].first_chunk().unwrap())))
            .collect()
    };
    for count in [0, 1, 17, 200_001] {
        // The second parts tell the order they came in.
        let mut pairs: Vec<[u64; 2]> =
            numbers(count).iter().zip(0..).map(|(n, i)| [n % 1000, count as u64 - i]).collect();
        fs::write(folder.path().join("a"), bytes(pairs.as_flattened())).unwrap();
        pairs.sort_by_key(|pair| pair[0]);
        let mut down = pairs.clone();
        down.sort_by_key(|pair| std::cmp::Reverse(pair[0]));
        let once = |pairs: &[[u64; 2]]| {
            let mut once = pairs.to_vec();
            once.dedup_by_key(|pair| pair[0]);
            once
        };
        for (options, wanted) in [
            (&["-s"][..], pairs.clone()),
            (&["-sr"], down.clone()),
            (&["-su"], once(&pairs)),
            (&["-sru"], once(&down)),
            (&["-s", "--head", "5"], pairs[..count.min(5)].to_vec()),
            (&["-srj1", "--head=5"], down[..count.min(5)].to_vec()),
        ] {
            assert_sorts(folder.path(), &[&["--keys", "u64:u64", "a", "-o", "b"], options].concat());
            assert!(decode(&fs::read(folder.path().join("b")).unwrap()) == wanted, "{count}, {options:?}");
        }
        assert_sorts(folder.path(), &["--keys", "u64:u64", "-csr", "b"]);
        assert_eq!(sort(folder.path(), &["--keys", "u64:u64", "-c", "a"]).0, i32::from(count > 1));
    }
    let why = "eagre: sort: --stable: keys of u64 have no parts; use it with pairs, such as --keys u64:u64\n";
    assert_eq!(sort(folder.path(), &["--keys", "u64", "-s", "a"]), (2, String::new(), why.to_owned()));
}

#[test]
fn several_files_pipes_and_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut keys = numbers(500_000);
    fs::write(path("a"), bytes(&keys[..200_000])).unwrap();
    fs::write(path("b"), []).unwrap();
    fs::write(path("c"), bytes(&keys[200_000..])).unwrap();
    let input = bytes(&keys);
    keys.sort();
    let wanted = bytes(&keys);

    assert_sorts(folder.path(), &["--keys", "u64", "a", "b", "c", "-o", "all"]);
    assert!(fs::read(path("all")).unwrap() == wanted);
    let output = eagre().current_dir(folder.path()).args(["sort", "--keys", "u64", "a", "c"]).output().unwrap();
    assert!(output.stdout == wanted && output.status.success());

    for arguments in
        [&["sort", "--keys", "u64"][..], &["sort", "--keys=u64", "-", "-o", "-"], &["sort", "--keys=u64", "/dev/stdin"]]
    {
        let mut child = eagre().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                stdin.write_all(&input).unwrap();
                drop(stdin);
            });
            let output = child.wait_with_output().unwrap();
            assert!(output.stdout == wanted && output.status.success(), "{arguments:?}");
        });
    }

    // A file as standard input is read from where it stands.
    let mut stdin = File::open(path("c")).unwrap();
    stdin.read_exact(&mut [0; 8000]).unwrap();
    let output = eagre().args(["sort", "--keys", "u64"]).stdin(stdin).output().unwrap();
    let mut rest: Vec<u64> =
        fs::read(path("c")).unwrap()[8000..].as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
    rest.sort();
    assert!(output.stdout == bytes(&rest));
}

#[test]
fn in_its_own_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut keys = numbers(300_000);
    fs::write(path("a"), bytes(&keys)).unwrap();
    fs::hard_link(path("a"), path("hard")).unwrap();
    std::os::unix::fs::symlink("a", path("soft")).unwrap();
    let before = bytes(&keys);
    keys.sort();
    for (from, to) in [("a", "a"), ("a", "soft"), ("soft", "./a"), ("hard", "hard")] {
        assert_sorts(folder.path(), &["--keys", "u64", from, "-o", to]);
        assert!(fs::read(path(to)).unwrap() == bytes(&keys), "{from} {to}");
    }
    assert!(fs::symlink_metadata(path("soft")).unwrap().is_symlink());
    // Through a descriptor that is the file itself, which is written as it is: read before it is cut to nothing.
    fs::write(path("d"), &before).unwrap();
    let itself = File::options().read(true).write(true).open(path("d")).unwrap();
    let mut command = eagre();
    command.current_dir(folder.path()).args(["sort", "--keys", "u64", "d", "-o", "/dev/stdout"]).stdout(itself);
    assert!(command.status().unwrap().success());
    assert!(fs::read(path("d")).unwrap() == bytes(&keys));
}

#[test]
fn checking_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), bytes(&[1, 5, 5, 9, 7, 3])).unwrap();
    for (arguments, code, said) in [
        (&["--check", "a"][..], 1, "eagre: sort: a: disorder at key 4 (byte 32): 7 after 9\n"),
        (&["-cu", "a"], 1, "eagre: sort: a: disorder at key 2 (byte 16): 5 after 5\n"),
        (&["-cr", "a"], 1, "eagre: sort: a: disorder at key 1 (byte 8): 5 after 1\n"),
    ] {
        let arguments = [&["--keys", "u64"], arguments].concat();
        assert_eq!(sort(folder.path(), &arguments), (code, String::new(), said.to_owned()));
    }
    let (code, out, err) = sort(folder.path(), &["--keys", "u64", "-c", "--json", "a"]);
    assert_eq!((code, err.as_str()), (1, ""));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["sorted"], false);
    assert_eq!((json["disorder"]["index"].as_u64(), json["disorder"]["key"].as_str()), (Some(4), Some("7")));

    fs::write(path("b"), bytes(&[1, 2, 3])).unwrap();
    assert_eq!(sort(folder.path(), &["--keys", "u64", "-cu", "b"]), (0, String::new(), String::new()));
    let (code, out, _) = sort(folder.path(), &["--keys", "u64", "-c", "--json", "b"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["sorted"]), (0, &serde_json::Value::Bool(true)));
    let (code, _, err) = sort(folder.path(), &["--keys", "u64", "-c", "a", "b"]);
    assert_eq!((code, err.as_str()), (2, "eagre: sort: 2 files: one at a time can be looked at; name one\n"));
}

#[test]
fn what_cannot_be_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), bytes(&[3, 1])).unwrap();
    fs::write(path("odd"), [7; 19]).unwrap();
    fs::create_dir(path("folder")).unwrap();
    // As large as a file can be where there is no room for it, and a byte that is really there.
    let huge = File::create(path("huge")).unwrap();
    std::os::unix::fs::FileExt::write_at(&huge, &[1], 0).unwrap();
    huge.set_len(8 << 40).unwrap();
    for (arguments, why) in [
        (&["missing", "-o", "b"][..], "missing: No such file or directory; check the name"),
        (&["a", "folder", "-o", "b"], "folder: is a directory; name the files in it"),
        (
            &["odd", "-o", "b"],
            "odd: 19 bytes are no whole number of keys of 8 bytes: 3 left over; \
             name the right --keys, or cut it with 'truncate -s 16'",
        ),
        (&["a", "-o", "missing/b"], "missing/b: No such file or directory; check the name"),
        (&["a", "-o", "folder"], "folder: Is a directory; name a file in it"),
        (&["a", "--json"], "standard output: it cannot take both the keys and --json; name a file with -o"),
    ] {
        let why = format!("eagre: sort: {why}\n");
        let arguments = [&["--keys", "u64"], arguments].concat();
        assert_eq!(sort(folder.path(), &arguments), (2, String::new(), why), "{arguments:?}");
        assert_eq!(names(folder.path()), ["a", "folder", "huge", "odd"]);
    }
    let why = "eagre: write: b: No space left on device; make room, or write elsewhere\n";
    assert_eq!(sort(folder.path(), &["--keys", "u64", "huge", "-o", "b"]), (2, String::new(), why.to_owned()));
    let (code, _, err) = sort(folder.path(), &["--keys", "u64", "--memory", "1M", "a", "-o", "b"]);
    assert!(code == 2 && err.contains("1048576 bytes of memory are too few; it takes 16777216 at least"), "{err}");
    // What comes through a pipe is seen to be cut short when it has ended.
    let mut child = eagre();
    child.args(["sort", "--keys", "u32"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&[1; 4097]).unwrap();
    let why = "eagre: sort: standard input: 4097 bytes are no whole number of keys of 4 bytes: 1 left over; \
               name the right --keys\n";
    assert_eq!(parts(&child.wait_with_output().unwrap()), (2, String::new(), why.to_owned()));
}

#[test]
fn an_unreadable_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), bytes(&[3, 1])).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o0);
    fs::set_permissions(folder.path().join("a"), mode).unwrap();
    if File::open(folder.path().join("a")).is_ok() {
        return eprintln!("skipped: nothing is unreadable for this user");
    }
    let why = "eagre: sort: a: Permission denied; ask for permission (chmod, chown) or run as a user who has it\n";
    assert_eq!(sort(folder.path(), &["--keys", "u64", "a", "-o", "b"]), (2, String::new(), why.to_owned()));
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_terminal_gets_no_keys() {
    let Ok(master) = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY) else {
        return eprintln!("skipped: no terminals here");
    };
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
    let slave = File::options().read(true).write(true).open(OsStr::new(name.to_str().unwrap())).unwrap();
    let output = eagre().args(["sort", "--keys", "u64"]).stdout(slave).output().unwrap();
    let why =
        "eagre: sort: standard output: it is a terminal, and the keys are not text; name a file with -o, or pipe it\n";
    assert_eq!(parts(&output), (2, String::new(), why.to_owned()));
}

#[test]
fn nobody_reads_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), bytes(&numbers(1 << 20))).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = eagre();
    let output = command.current_dir(folder.path()).args(["sort", "--keys", "u64", "a"]).stdout(writer).output();
    assert_eq!(parts(&output.unwrap()), (0, String::new(), String::new()));
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        let mut command = eagre();
        let output = command.current_dir(folder.path()).args(["sort", "--keys", "u64", "a"]).stdout(full).output();
        let (code, _, err) = parts(&output.unwrap());
        let why = "eagre: write: standard output: No space left on device at byte 0; make room, or write elsewhere\n";
        assert_eq!((code, err.as_str()), (2, why));
    }
}

/// Stopped in the middle, by whatever signal: the file is as it was, and nothing is there that was not before.
#[test]
fn killed_it_leaves_everything() {
    let keys = bytes(&numbers(400_000));
    // While it reads, of which there is no end, and while it writes what nobody reads.
    for (signal, reading) in [("TERM", true), ("KILL", true), ("KILL", false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), &keys).unwrap();
        let mut command = eagre();
        command.current_dir(folder.path()).args(["sort", "--keys", "u64", "a"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = match reading {
            true => command.args(["-", "-o", "a"]).spawn().unwrap(),
            false => command.spawn().unwrap(),
        };
        if reading {
            // More than a pipe holds: when this returns, some of it has been read.
            child.stdin.as_mut().unwrap().write_all(&keys).unwrap();
        } else {
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
        }
        let kill = Command::new("kill").args(["-s", signal]).arg(child.id().to_string()).status();
        assert!(kill.unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert_eq!(names(folder.path()), ["a"], "{signal}");
        assert!(fs::read(path("a")).unwrap() == keys);
    }
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let source = tempfile::NamedTempFile::new().unwrap();
    let keys = bytes(&numbers(1 << 20));
    fs::write(source.path(), &keys).unwrap();
    let source = source.path().display();
    let script = format!("echo old > b; \"$EAGRE\" sort --keys u64 {source} -o b; echo $?; cat b; ls -A");
    let Some(output) = on_a_small_disk("4M", &script) else { return };
    let (_, out, err) = parts(&output);
    let full = "eagre: write: b: No space left on device; make room, or write elsewhere\n";
    assert_eq!((out.as_str(), err.as_str()), ("2\nold\nb\nmounted\n", full));
}

/// More keys than there are addresses for are sorted in runs.
#[test]
fn few_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let mut keys = numbers(5 << 20);
    fs::write(folder.path().join("a"), bytes(&keys)).unwrap();
    keys.sort_unstable();
    for input in ["a", "- < a", "<(cat a)"] {
        let eagre = env!("CARGO_BIN_EXE_eagre");
        let script = format!("ulimit -v 500000 && '{eagre}' sort --keys u64 --temp . --json -o b {input}");
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let (code, out, err) = parts(&output);
        assert_eq!((code, err.as_str()), (0, ""), "{input}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(json["runs"].as_u64() > Some(1), "{out}");
        assert!(fs::read(folder.path().join("b")).unwrap() == bytes(&keys), "{input}");
        assert_eq!(names(folder.path()), ["a", "b"]);
    }
}

/// Files larger than memory, in their own place too.
#[test]
fn larger_than_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut keys: Vec<u64> = numbers(3 << 20).into_iter().map(|number| number % 2_000_000).collect();
    fs::write(path("a"), bytes(&keys)).unwrap();
    let all = ["--keys", "u64", "--memory", "16M", "--temp", "."];
    let mut unique = keys.clone();
    unique.sort_unstable();
    unique.dedup();
    unique.reverse();
    assert_sorts(folder.path(), &[&all[..], &["-ru", "a", "-o", "b"]].concat());
    assert!(fs::read(path("b")).unwrap() == bytes(&unique));
    assert_sorts(folder.path(), &[&all[..], &["-r", "-u", "--head", "1000", "a", "-o", "b"]].concat());
    assert!(fs::read(path("b")).unwrap() == bytes(&unique[..1000]));

    let (code, out, err) = sort(folder.path(), &[&all[..], &["--json", "--explain", "a", "-o", "a"]].concat());
    keys.sort_unstable();
    assert!(fs::read(path("a")).unwrap() == bytes(&keys));
    assert!(code == 0 && err.lines().count() == 1 && err.contains(", merged from "), "{err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((json["keys"].as_u64(), json["merges"].as_u64()), (Some(3 << 20), Some(1)));
    assert!(json["runs"].as_u64() > Some(1) && json["memory"]["keys"].as_u64() == Some(24 << 20), "{out}");
    assert!(json["memory"]["peak"].as_u64().is_none_or(|peak| peak < (16 << 20) + (32 << 20)), "{out}");
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn every_simd_setting_that_can_be() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), bytes(&numbers(50_000))).unwrap();
    let sorted = |simd: &str| {
        let command = &mut eagre();
        let command = command.current_dir(folder.path()).env("EAGRE_SIMD", simd);
        command.args(["sort", "--keys", "u64", "a"]).output().unwrap()
    };
    let portable = sorted("portable");
    assert_eq!(portable.status.code(), Some(0));
    assert_eq!(portable.stdout, sorted("").stdout);
    let (code, out, err) = parts(&sorted("mmx"));
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.starts_with("eagre: sort: EAGRE_SIMD=mmx: not a value it takes; set one of: "), "{err}");
}

#[test]
fn json_and_explanation() {
    let folder = tempfile::tempdir().unwrap();
    let keys: Vec<u64> = numbers(100_000).into_iter().map(|number| number % 1000).collect();
    fs::write(folder.path().join("a"), bytes(&keys)).unwrap();
    let arguments = ["--keys", "u64", "-u", "-j", "2", "--json", "--explain", "a", "-o", "b"];
    let (code, out, err) = sort(folder.path(), &arguments);
    assert_eq!(code, 0);
    assert!(err.starts_with("eagre: sort: 100000 keys of u64: read in ") && err.lines().count() == 1, "{err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((json["file"].as_str(), json["type"].as_str()), (Some("b"), Some("u64")));
    assert_eq!((json["keys"].as_u64(), json["written"].as_u64()), (Some(100_000), Some(1000)));
    assert_eq!((json["threads"].as_u64(), json["memory"]["keys"].as_u64()), (Some(2), Some(800_000)));
    for part in ["read", "sort", "write"] {
        assert!(json[part]["seconds"].as_f64().unwrap() > 0.0, "{part}");
    }
    assert!(json["memory"]["peak"].as_u64().is_none_or(|peak| peak > 800_000));
}

/// The keys, what is allowed beside them, and two streams: no copy of the keys anywhere.
#[test]
fn little_memory_beside_the_keys() {
    let folder = tempfile::tempdir().unwrap();
    let keys = bytes(&numbers(5 << 20));
    fs::write(folder.path().join("a"), &keys).unwrap();
    let arguments = ["--keys", "u64", "--slack", "8M", "--json", "a", "-o", "b"];
    let (code, out, err) = sort(folder.path(), &arguments);
    assert_eq!((code, err.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let Some(peak) = json["memory"]["peak"].as_u64() else { return eprintln!("skipped: nobody tells the peak") };
    assert!(peak < keys.len() as u64 + (8 << 20) + (30 << 20), "{peak}");
}

/// What a terminal shows while a sort that takes long goes on, and that nothing of it stays.
#[test]
fn progress_on_a_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let Ok(terminal) = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY) else {
        return eprintln!("skipped: no terminals here");
    };
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = eagre();
    command.current_dir(folder.path()).args(["sort", "--keys", "u64", "-o", "b"]).stdin(Stdio::piped()).stderr(slave);
    let mut child = command.spawn().unwrap();
    drop(command);
    // More comes in until a line is there, then no more.
    let stdin = child.stdin.take().unwrap();
    let (seen, shown) = std::sync::mpsc::channel::<()>();
    let feeder = std::thread::spawn(move || {
        let piece = bytes(&numbers(1 << 15));
        let mut sent = 0u64;
        while shown.try_recv().is_err() {
            (&stdin).write_all(&piece).unwrap();
            sent += piece.len() as u64;
            std::thread::yield_now();
            if sent > 1 << 30 {
                break;
            }
        }
    });
    let mut text = Vec::new();
    let mut terminal = File::from(terminal);
    let mut bytes = [0; 4096];
    // Reading fails when the last who has the other end open is gone.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        text.extend(&bytes[..count]);
        let _ = seen.send(());
    }
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("\reagre: read: ") && text.ends_with("\r\x1b[K"), "{text:?}");
}
