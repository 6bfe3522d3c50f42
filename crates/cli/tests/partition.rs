//! `eagre partition` against the standard library; and that buckets appear together or not at all.
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{bytes, eagre, names, numbers, on_a_small_disk, parts};

/// Runs `eagre partition`, and returns code, output and complaints.
fn partition(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).arg("partition").args(arguments).output().unwrap())
}

/// A folder with the numbers in `a`, and an empty one in it.
fn room(keys: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), keys).unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    folder
}

/// Partitions in both layouts, and compares with buckets made one key at a time.
#[track_caller]
fn check<K: Copy + PartialEq>(
    options: &[&str],
    keys: &[K],
    encode: impl Fn(&K) -> Vec<u8>,
    ways: usize,
    bucket: impl Fn(&K) -> usize,
) {
    let mut wanted = vec![Vec::new(); ways];
    keys.iter().for_each(|key| wanted[bucket(key)].extend(encode(key)));
    let width = encode(&keys[0]).len();
    let folder = room(&keys.iter().flat_map(&encode).collect::<Vec<u8>>());
    let path = |name: &str| folder.path().join(name);

    let (code, out, err) = partition(folder.path(), &[options, &["a", "-o", "out"]].concat());
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "{options:?}");
    let names = names(&path("out"));
    assert_eq!(names.len(), ways, "{options:?}");
    for (number, (name, wanted)) in names.iter().zip(&wanted).enumerate() {
        assert_eq!(name.strip_prefix("part-").unwrap().parse(), Ok(number));
        assert_eq!(name.len(), names[0].len());
        assert!(fs::read(path("out").join(name)).unwrap() == *wanted, "{options:?}: {name}");
    }

    let (code, out, err) = partition(folder.path(), &[options, &["a", "--contiguous", "-o", "one"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{options:?}");
    assert!(fs::read(path("one")).unwrap() == wanted.concat(), "{options:?}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let mut offsets = vec![0];
    wanted.iter().for_each(|wanted| offsets.push(offsets[offsets.len() - 1] + wanted.len() / width));
    assert_eq!(json["offsets"], serde_json::json!(offsets), "{options:?}");
}

#[test]
fn every_type_and_every_way_to_partition() {
    let keys = numbers(20_000);
    let encode = |key: &u64| key.to_le_bytes().to_vec();
    check(&["--keys", "u64", "--ways", "2"], &keys, encode, 2, |key| (key >> 63) as usize);
    check(&["--keys", "u64", "--ways", "1024"], &keys, encode, 1024, |key| (key >> 54) as usize);
    check(&["--keys", "u64", "--ways", "10", "-j1"], &keys, encode, 10, |key| ((u128::from(*key) * 10) >> 64) as usize);
    check(&["--keys", "u64", "--bits", "0:3"], &keys, encode, 8, |key| (key & 7) as usize);
    check(&["--keys", "u64", "--bits", "54:10"], &keys, encode, 1024, |key| (key >> 54) as usize);
    let cuts = [0, 5, 1 << 40, 1 << 63, u64::MAX];
    let text = cuts.map(|cut| cut.to_string()).join(",");
    let options = ["--keys", "u64", "--boundaries", &text];
    check(&options, &keys, encode, 6, |key| cuts.partition_point(|cut| cut <= key));

    let few: Vec<u32> = keys.iter().map(|key| (key >> 32) as u32).collect();
    check(&["--keys", "u32", "--ways", "8"], &few, |key| key.to_le_bytes().to_vec(), 8, |key| (key >> 29) as usize);

    let bytes_of = |key: &u8| vec![*key];
    let narrow: Vec<u8> = keys.iter().map(|&key| key as u8).collect();
    check(&["--keys", "u8", "--ways", "3"], &narrow, bytes_of, 3, |key| usize::from(*key) * 3 / 256);
    check(&["--keys", "u8", "--bits", "0:8"], &narrow, bytes_of, 256, |key| usize::from(*key));
    let narrow: Vec<i8> = keys.iter().map(|&key| key as i8).collect();
    let options = ["--keys", "i8", "--boundaries=-100,0,100"];
    check(&options, &narrow, |key| vec![*key as u8], 4, |key| [-100, 0, 100].partition_point(|cut| cut <= key));
    let narrow: Vec<u16> = keys.iter().map(|&key| key as u16).collect();
    let options = ["--keys", "u16", "--ways", "1000"];
    let ranges = |key: &u16| usize::from(*key) * 1000 / 65_536;
    check(&options, &narrow, |key| key.to_le_bytes().to_vec(), 1000, ranges);
    let narrow: Vec<i16> = keys.iter().map(|&key| key as i16).collect();
    let options = ["--keys", "i16", "--boundaries", "-1000,5"];
    let cuts = |key: &i16| [-1000, 5].partition_point(|cut| cut <= key);
    check(&options, &narrow, |key| key.to_le_bytes().to_vec(), 3, cuts);

    let signed: Vec<i64> = keys.iter().map(|&key| key as i64 >> 20).collect();
    let cuts = [-1_000_000_000, 0, 1_000_000_000];
    let options = ["--keys", "i64", "--boundaries=-1000000000, 0, 1000000000"];
    check(&options, &signed, |key| key.to_le_bytes().to_vec(), 4, |key| cuts.partition_point(|cut| cut <= key));

    let small: Vec<i32> = keys.iter().map(|&key| key as i32).collect();
    let options = ["--keys", "i32", "--boundaries", "-7"];
    check(&options, &small, |key| key.to_le_bytes().to_vec(), 2, |key| usize::from(*key >= -7));

    let real: Vec<f64> = keys.iter().map(|&key| (key as i64 >> 30) as f64 / 7.0).collect();
    let options = ["--keys", "f64", "--boundaries", "-0.5,0,1e9,inf"];
    let cuts = [-0.5, 0.0, 1e9, f64::INFINITY];
    check(&options, &real, |key| key.to_le_bytes().to_vec(), 5, |key| cuts.partition_point(|cut| cut <= key));
    let small: Vec<f32> = real.iter().map(|&key| key as f32).collect();
    let options = ["--keys", "f32", "--ways", "2"];
    check(&options, &small, |key| key.to_le_bytes().to_vec(), 2, |key| usize::from(*key >= 0.0));

    let pairs: Vec<[u64; 2]> = keys.as_chunks().0.to_vec();
    let options = ["--keys", "u64:u64", "--bits", "60:4"];
    check(&options, &pairs, |pair| bytes(pair), 16, |pair| (pair[0] >> 60) as usize);
    let encode = |pair: &[u32; 2]| pair.iter().flat_map(|part| part.to_le_bytes()).collect();
    let pairs: Vec<[u32; 2]> = few.as_chunks().0.to_vec();
    check(&["--keys", "u32:u32", "--ways", "4"], &pairs, encode, 4, |pair| (pair[0] >> 30) as usize);
}

#[test]
fn empty_files_pipes_and_json() {
    let folder = room(&[]);
    assert_eq!(partition(folder.path(), &["--keys", "u64", "--ways", "12", "a", "-o", "out"]).0, 0);
    let names = names(&folder.path().join("out"));
    assert_eq!((names.len(), names[0].as_str(), names[11].as_str()), (12, "part-00", "part-11"));

    // From a pipe, over files that are there, with boundaries from a file.
    fs::write(folder.path().join("cuts"), "10\n20\n").unwrap();
    let mut command = eagre();
    command.current_dir(folder.path()).args(["partition", "--keys", "u64", "--boundaries-from", "cuts"]);
    command.args(["--json", "-o", "out"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes(&[5, 25, 10, 7, 19])).unwrap();
    let (code, out, _) = parts(&child.wait_with_output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, json["type"].as_str(), json["keys"].as_u64()), (0, Some("u64"), Some(5)));
    let buckets = json["buckets"].as_array().unwrap();
    for (bucket, (file, keys)) in
        buckets.iter().zip([("out/part-0", &[5, 7][..]), ("out/part-1", &[10, 19]), ("out/part-2", &[25])])
    {
        assert_eq!((bucket["file"].as_str(), bucket["keys"].as_u64()), (Some(file), Some(keys.len() as u64)));
        assert_eq!(fs::read(folder.path().join(file)).unwrap(), bytes(keys));
    }
    assert_eq!(buckets.len(), 3);
    for phase in ["read", "partition", "write"] {
        assert!(json[phase]["seconds"].as_f64().unwrap() > 0.0, "{phase}");
    }
}

#[test]
fn what_cannot_be_partitioned() {
    let folder = room(&bytes(&[3, 1]));
    fs::write(folder.path().join("odd"), [7; 19]).unwrap();
    for (arguments, why) in [
        (&["--ways=2", "missing", "-o", "out"][..], "missing: No such file or directory; check the name"),
        (&["--ways=2", "out", "-o", "out"], "out: is a directory; name the files in it"),
        (
            &["--ways=2", "odd", "-o", "out"],
            "odd: 19 bytes are no whole number of keys of 8 bytes: 3 left over; \
             name the right --keys, or cut it with 'truncate -s 16'",
        ),
        (
            &["--ways=2", "a", "-o", "missing"],
            "missing: No such file or directory; make a directory (mkdir) for the buckets, or use --contiguous",
        ),
        (
            &["--ways=2", "a", "-o", "a"],
            "a: is not a directory; make a directory (mkdir) for the buckets, or use --contiguous",
        ),
        (
            &["--ways=2", "a", "-o", "-"],
            "standard output: several files cannot go there; name a directory, or use --contiguous",
        ),
        (
            &["--ways=2", "a", "--contiguous", "-o", "-"],
            "standard output: it cannot take both the keys and --json; name a file with -o",
        ),
        (
            &["--bits=60:5", "a", "-o", "out"],
            "--bits 60:5: keys have 64 bits; SHIFT and BITS add up to at most that, and BITS is 1 to 10; \
             such as --bits 0:8",
        ),
        (
            &["--boundaries=1,x", "a", "-o", "out"],
            "--boundaries: 'x' is not a key; boundaries have the type that --keys names",
        ),
        (
            &["--boundaries=1,3,2", "a", "-o", "out"],
            "--boundaries: '2' is less than the boundary before it; sort the boundaries",
        ),
        (
            &["--boundaries=", "a", "-o", "out"],
            "--boundaries: 0 boundaries; there can be 1 to 1023; for more buckets, partition twice",
        ),
        (&["--boundaries-from=none", "a", "-o", "out"], "none: No such file or directory; check the name"),
    ] {
        let arguments = [&["--keys", "u64"], arguments].concat();
        let why = format!("eagre: partition: {why}\n");
        assert_eq!(partition(folder.path(), &arguments), (2, String::new(), why), "{arguments:?}");
        assert_eq!(names(folder.path()), ["a", "odd", "out"]);
        assert_eq!(names(&folder.path().join("out")), [""; 0]);
    }
    let why = "eagre: partition: --keys: keys of u128 can be sorted, but not partitioned; \
               name a type of up to 64 bits, or pairs\n";
    let arguments = ["--keys", "u128", "--ways=2", "a", "-o", "out"];
    assert_eq!(partition(folder.path(), &arguments), (2, String::new(), why.to_owned()));
    for wrong in [&["--ways=1"][..], &["--ways=1025"], &["--bits=8"], &[], &["--ways=2", "--bits=0:1"]] {
        let (code, _, err) = partition(folder.path(), &[&["--keys=u64", "a", "-o", "out"], wrong].concat());
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
        assert!(err.starts_with("eagre: usage: "), "{err}");
    }
}

/// A bucket must not take the place of a file that is read, under whatever name it is: stopped before the next bucket
/// appears, keys would be lost.
#[test]
fn a_bucket_is_no_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let old = bytes(&numbers(100));
    fs::write(path("part-1"), &old).unwrap();
    fs::write(path("other"), &old).unwrap();
    std::os::unix::fs::symlink("part-1", path("link")).unwrap();
    fs::hard_link(path("part-1"), path("twin")).unwrap();
    let why = "is read, and a bucket would take its place; name another directory with -o";
    for name in ["part-1", "./part-1", "link", "twin", "standard input"] {
        let mut command = eagre();
        command.current_dir(folder.path()).args(["partition", "--keys=u64", "--ways=4", "-o", "."]);
        match name {
            "standard input" => command.stdin(File::open(path("part-1")).unwrap()),
            name => command.args(["other", name]),
        };
        let (code, out, err) = parts(&command.output().unwrap());
        assert_eq!((code, out, err), (2, String::new(), format!("eagre: partition: {name}: {why}\n")));
        assert_eq!(names(folder.path()), ["link", "other", "part-1", "twin"]);
        assert!(fs::read(path("part-1")).unwrap() == old);
    }
    // With so many buckets none has that name.
    assert_eq!(partition(folder.path(), &["--keys=u64", "--ways=16", "part-1", "-o", "."]).0, 0);
    // One file appears at once, so it may be one that is read.
    assert_eq!(partition(folder.path(), &["--keys=u64", "--ways=4", "part-1", "--contiguous", "-o", "part-1"]).0, 0);
}

/// Standard input cannot give the boundaries and then the keys: none would be left.
#[test]
fn boundaries_are_no_keys() {
    let folder = room(&[]);
    let old = folder.path().join("out/part-0");
    fs::write(&old, "old").unwrap();
    let why = "cannot be both the keys and their boundaries; name the FILEs with the keys";
    for (from, files, place) in [
        ("-", &[][..], "standard input"),
        ("-", &["a", "-"], "standard input"),
        ("/dev/stdin", &[], "/dev/stdin"),
        ("a", &["a"], "a"),
    ] {
        let mut command = eagre();
        command.current_dir(folder.path()).args(["partition", "--keys=u64", "-o=out", "--boundaries-from", from]);
        let mut child =
            command.args(files).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may be gone already, with nothing read.
        let _ = child.stdin.take().unwrap().write_all(b"10\n");
        let (code, out, err) = parts(&child.wait_with_output().unwrap());
        assert_eq!((code, out, err), (2, String::new(), format!("eagre: partition: {place}: {why}\n")));
        assert_eq!(names(&folder.path().join("out")), ["part-0"]);
        assert_eq!(fs::read(&old).unwrap(), b"old");
    }
}

/// What cannot be written is known before the work, and nothing is printed.
#[test]
fn a_target_that_cannot_be() {
    let folder = room(&bytes(&[3, 1]));
    let (code, out, err) = partition(folder.path(), &["--keys=u64", "--ways=2", "a", "--contiguous", "-o", "none/b"]);
    let why = "eagre: partition: none/b: No such file or directory; check the name\n";
    assert_eq!((code, out.as_str(), err.as_str()), (2, "", why));
}

/// With few open files allowed, more are asked for; where that is forbidden, it is an error and nothing appears.
#[test]
fn many_buckets_and_few_open_files() {
    let folder = room(&bytes(&numbers(5000)));
    for (limit, code, files) in [("-Sn 128", 0, 1024), ("-n 128", 2, 0)] {
        let eagre = env!("CARGO_BIN_EXE_eagre");
        let script = format!("ulimit {limit} && mkdir new && '{eagre}' partition --keys u64 --ways 1024 a -o new");
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let (got, out, err) = parts(&output);
        assert_eq!((got, out.as_str()), (code, ""), "{err}");
        assert_eq!(names(&folder.path().join("new")).len(), files);
        if code != 0 {
            assert!(err.contains("Too many open files") && err.ends_with("; raise 'ulimit -n'\n"), "{err}");
            assert_eq!(err.lines().count(), 1);
        }
        fs::remove_dir_all(folder.path().join("new")).unwrap();
    }
}

/// Stopped in the middle, by whatever signal: nothing is there that was not before.
#[test]
fn killed_it_leaves_nothing() {
    for signal in ["TERM", "KILL"] {
        let folder = room(b"old");
        let mut command = eagre();
        command.current_dir(folder.path()).args(["partition", "--keys", "u64", "--ways", "4", "-o", "out"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // More than a pipe holds: when this returns, some of it has been read.
        child.stdin.as_mut().unwrap().write_all(&bytes(&numbers(400_000))).unwrap();
        let kill = Command::new("kill").args(["-s", signal]).arg(child.id().to_string()).status();
        assert!(kill.unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert_eq!(names(folder.path()), ["a", "out"], "{signal}");
        assert_eq!(names(&folder.path().join("out")), [""; 0], "{signal}");
    }
}

/// There is room for some of the buckets: none appears, and one that was there stays as it was.
#[test]
fn a_full_disk_leaves_nothing() {
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), bytes(&numbers(1 << 20))).unwrap();
    let source = source.path().display();
    for (options, out) in
        [("-o .", "2\nold\nmounted\npart-1\n"), ("--contiguous -o part-1", "2\nold\nmounted\npart-1\n")]
    {
        let script = format!(
            "echo old > part-1; \"$EAGRE\" partition --keys u64 --ways 4 {options} {source}; echo $?; cat part-1; ls -A"
        );
        let Some(output) = on_a_small_disk("5M", &script) else { return };
        let (_, got, err) = parts(&output);
        assert_eq!(got, out);
        assert!(err.starts_with("eagre: write: ") && err.contains("No space left on device"), "{err}");
        assert!(err.ends_with("; make room, or write elsewhere\n") && err.lines().count() == 1, "{err}");
    }
}

#[test]
fn no_memory() {
    let folder = room(&[]);
    let file = File::create(folder.path().join("a")).unwrap();
    (&file).write_all(&[1]).unwrap();
    file.set_len(8 << 40).unwrap();
    let (code, _, err) = partition(folder.path(), &["--keys", "u64", "--ways=2", "a", "-o", "out"]);
    assert_eq!((code, err.lines().count()), (2, 1));
    assert!(
        err.starts_with("eagre: partition: a: needs 10 TiB of memory, and ") && err.contains(" are available; "),
        "{err}"
    );
}

#[test]
fn a_simd_setting_that_cannot_be() {
    let folder = room(&bytes(&numbers(100)));
    let mut command = eagre();
    command.current_dir(folder.path()).env("EAGRE_SIMD", "mmx");
    command.args(["partition", "--keys", "u64", "--ways", "2", "a", "-o", "out"]);
    let (code, out, err) = parts(&command.output().unwrap());
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.starts_with("eagre: partition: EAGRE_SIMD=mmx: not a value it takes; set one of: "), "{err}");
    assert!(names(&folder.path().join("out")).is_empty());
}
