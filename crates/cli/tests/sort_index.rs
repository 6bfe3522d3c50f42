//! `eagre sort --index`, `eagre gather`, `eagre sort --verify`, and sorting what is compressed.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{eagre, names, parts, seeded};

/// Runs the command in a folder.
fn within(folder: &Path, arguments: &str) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).args(arguments.split_whitespace()).output().unwrap())
}

fn well(folder: &Path, arguments: &str) {
    assert_eq!(within(folder, arguments), (0, String::new(), String::new()), "{arguments}");
}

/// One line with this in it, and exit code 2.
fn refused(folder: &Path, arguments: &str, said: &str) {
    let (code, out, err) = within(folder, arguments);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments}: {err}");
    assert!(err.starts_with("eagre: ") && err.contains(said), "{arguments}: {err}");
}

/// Lines in the order of the standard library, or of their second field as a number.
fn lines(count: usize) -> (String, String, String) {
    let mut random = seeded(count as u64);
    let mut lines: Vec<String> =
        (0..count).map(|_| format!("{} {}\n", "xy".repeat(random.usize(1..20)), random.u32(..100_000))).collect();
    let unsorted = lines.concat();
    lines.sort_by(|a, b| a[..a.len() - 1].cmp(&b[..b.len() - 1]));
    let sorted = lines.concat();
    lines.sort_by_key(|line| line.split_once(' ').unwrap().1.trim_end().parse::<u32>().unwrap());
    (unsorted, sorted, lines.concat())
}

#[test]
fn an_index_and_its_data_make_the_sorted_file() {
    let room = tempfile::tempdir().unwrap();
    let read = |name| fs::read(room.path().join(name)).unwrap();
    for (made, format) in [
        ("", "--gensort"),
        ("--record 70", "--record 70 -k 60:i64be:desc -k 3:5"),
        ("--klv 9:0..50:2", "--klv 9:2"),
        ("--keys u64", "--keys u64"),
        ("--keys u64:u64 --dist zipf", "--keys u64:u64 --stable"),
        ("--lines --dist zipf", "--lines -r"),
        ("--lines", "--lines -k2,2"),
    ] {
        well(room.path(), &format!("gen 4000 data {made}"));
        well(room.path(), &format!("sort data -o sorted {format}"));
        well(room.path(), &format!("sort --index data -o index --verify {format}"));
        well(room.path(), "gather index data -o gathered");
        assert!(read("gathered") == read("sorted"), "{format}");
        let (code, out, err) = within(room.path(), "gather index data --range 5..5");
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    }
    let (unsorted, sorted, _) = lines(3000);
    fs::write(room.path().join("data"), unsorted).unwrap();
    well(room.path(), "sort --index data -o index");
    for (range, start, end) in [("..7", 0, 7), ("2990..", 2990, 3000), ("10..20", 10, 20)] {
        let (code, out, _) = within(room.path(), &format!("gather index data --range {range} -j 1"));
        let wanted: String = sorted.split_inclusive('\n').skip(start).take(end - start).collect();
        assert_eq!((code, out), (0, wanted), "{range}");
    }
    // The data become what is gathered.
    well(room.path(), "gather index data -o data");
    assert_eq!(read("data"), sorted.as_bytes());
    refused(room.path(), "gather index data", "data: it was changed since it was indexed; index it again");
}

#[test]
fn what_is_wrong_with_an_index_is_one_line() {
    let room = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(room.path().join(name), bytes).unwrap();
    put("data", b"b\nc\na\n");
    well(room.path(), "sort --index data -o index");
    let index = fs::read(room.path().join("index")).unwrap();
    put("short", &index[..index.len() - 5]);
    let mut hostile = index.clone();
    hostile[64 + 16..64 + 21].fill(0xff);
    put("hostile", &hostile);
    put("other", b"b\n");
    put("copy", b"b\nc\na\n");
    let before = names(room.path());
    for (arguments, said) in [
        ("gather data data -o out", "gather: data: it is not an index; make one with 'eagre sort --index'"),
        ("gather short data -o out", "gather: short: the index is cut short"),
        ("gather hostile data -o out", "gather: hostile: the index is damaged: entry 0 points outside the data"),
        ("gather index other -o out", "gather: other: the index is of another file: it has 2 bytes"),
        ("gather index data --range 2..9 -o out", "gather: index: it has 3 entries, and 2..9 is no range of them"),
        ("gather index data --range 3..2 -o out", "it ends before it begins"),
        ("gather missing data -o out", "gather: missing: No such file or directory; check the name"),
        ("gather - data -o out", "gather: standard input: records and their index are read in any order; name a file"),
        ("gather index -o out", "see 'eagre gather --help'"),
        ("sort --index data copy -o out", "--index takes one FILE, not 2"),
        ("sort --index --merge data -o out", "cannot be used with"),
        (
            "sort --index data -o data",
            "sort: data: the index would replace the records that it points to; name another",
        ),
        ("sort --index --plan classic data -o out", "--plan classic: an index is made by one-pass or merge-pass"),
        ("sort --index - -o out", "an index points into a regular file"),
    ] {
        refused(room.path(), arguments, said);
        assert_eq!(names(room.path()), before, "{arguments}: nothing is made");
    }
    well(room.path(), "gather index copy --copied -o out");
    assert_eq!(fs::read(room.path().join("out")).unwrap(), b"a\nb\nc\n");
}

/// An index by the table of `docs/sorting-files.md`, of data of 300 MiB with nothing in them: entries with an offset and a
/// length behind keys of 16 bytes, and zeros for the rest of them.
fn index_of_zeros(entries: &[(u64, u64)]) -> Vec<u8> {
    let mut index = b"EAGREIDX\x01\0\x10\0\x05\x05\0\0".to_vec();
    for number in [entries.len() as u64, 0, ZEROS] {
        index.extend(number.to_le_bytes());
    }
    index.resize(64, 0);
    for (offset, length) in entries {
        index.extend([0; 16]);
        index.extend([offset, length].iter().flat_map(|number| number.to_le_bytes().into_iter().take(5)));
    }
    index
}

const ZEROS: u64 = 300 << 20;

/// Whatever an index says, it is one line, and no memory follows what it says: there are 200 MB of addresses for all.
#[test]
fn a_hostile_index_is_one_line_and_takes_no_memory() {
    let room = tempfile::tempdir().unwrap();
    fs::File::create(room.path().join("data")).unwrap().set_len(ZEROS).unwrap();
    let gather = |index: &[u8], arguments: &str| {
        fs::write(room.path().join("index"), index).unwrap();
        let script = format!("ulimit -v 200000; exec \"$EAGRE\" gather -j1 --copied index data {arguments}");
        let mut command = Command::new("sh");
        command.current_dir(room.path()).args(["-c", &script]).env("EAGRE", env!("CARGO_BIN_EXE_eagre"));
        parts(&command.stdin(Stdio::null()).output().unwrap())
    };
    let all = |byte: u8, count: usize| vec![byte; count];
    let front = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut index = index_of_zeros(&[(0, 8), (8, 8)]);
        change(&mut index);
        index
    };
    let nonsense = "index: the index is damaged: its header makes no sense";
    for (index, said) in [
        (Vec::new(), "index: it is not an index; make one with 'eagre sort --index'"),
        (all(0, 200), "it is not an index"),
        (front(&|index| index.truncate(63)), "index: the index is cut short: it has 63 bytes"),
        (front(&|index| index.truncate(89)), "index: the index is cut short: it has 89 bytes of 116"),
        (front(&|index| index[8] = 0), "it is an index of version 0, not 1"),
        (front(&|index| index[8..10].fill(255)), "it is an index of version 65535, not 1"),
        // Keys of 65,535 bytes, with an entry.
        (
            front(&|index| {
                index[10..12].fill(255);
                index[16] = 1;
                index.resize(64 + 65_535 + 10, 0);
            }),
            nonsense,
        ),
        (front(&|index| index[10] = 15), nonsense),
        (front(&|index| (index[10], index[14]) = (65, 2)), nonsense),
        (front(&|index| (index[12], index[13]) = (0, 0)), nonsense),
        (front(&|index| (index[12], index[13]) = (255, 255)), nonsense),
        (front(&|index| index[13] = 0), nonsense),
        (front(&|index| index[14] = 8), nonsense),
        (front(&|index| index[63] = 1), nonsense),
        // Records of one size have no lengths in their entries.
        (front(&|index| index[24..32].fill(255)), nonsense),
        (
            front(&|index| index[16..24].fill(255)),
            "index: the index is damaged: it has 116 bytes, and 18446744073709551615",
        ),
        (front(&|index| index[20] = 1), "index: the index is cut short: it has 116 bytes of 111669149812"),
        (front(&|index| index[23] = 0x40), "index: the index is damaged: it has 116 bytes, and 4611686018427387906"),
        (front(&|index| index[16] = 0), "index: the index is damaged: it has 116 bytes, and 0 entries"),
        (front(&|index| index[32..40].fill(255)), "data: the index is of another file"),
        (index_of_zeros(&[(0, 1), (ZEROS, 1)]), "index: the index is damaged: entry 1 points outside the data"),
        (index_of_zeros(&[(ZEROS - 1, 2)]), "index: the index is damaged: entry 0 points outside the data"),
        (index_of_zeros(&[((1 << 40) - 1, (1 << 40) - 1)]), "entry 0 points outside the data"),
        (index_of_zeros(&[(0, 0)]), "entry 0 points outside the data"),
        // Offset and length together are more than numbers hold.
        (
            front(&|index| {
                (index[12], index[13], index[16]) = (8, 8, 1);
                index.truncate(64 + 16);
                index.extend(all(255, 16));
            }),
            "entry 0 points outside the data",
        ),
    ] {
        let (code, out, err) = gather(&index, "-o out");
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{said}: {err}");
        assert!(err.starts_with("eagre: gather: ") && err.contains(said), "{said}: {err}");
        assert_eq!(names(room.path()), ["data", "index"], "{said}: nothing is made");
    }
    // What is right works with as little: data that have no room among the addresses, as two records or as one.
    let (code, out, err) = gather(&index_of_zeros(&[(0, 8), (ZEROS - 5, 5)]), "");
    assert_eq!((code, out.as_bytes(), err.as_str()), (0, &[0; 13][..], ""));
    let (code, out, err) = gather(&index_of_zeros(&[(0, ZEROS)]), "| wc -c");
    assert_eq!((code, out.trim(), err.as_str()), (0, ZEROS.to_string().as_str(), ""));
}

#[test]
fn an_output_is_verified_before_it_appears() {
    let room = tempfile::tempdir().unwrap();
    let (unsorted, sorted, by_number) = lines(5000);
    fs::write(room.path().join("data"), unsorted.trim_end()).unwrap();
    for (options, wanted) in [("", &sorted), ("-s -k2n", &by_number_stable(&unsorted)), ("-k2n", &by_number)] {
        well(room.path(), &format!("sort --verify data -o out {options}"));
        assert!(fs::read(room.path().join("out")).unwrap() == wanted.as_bytes(), "{options}");
    }
    well(room.path(), "sort --verify -u data data -o out");
    well(room.path(), "sort --verify --head 10 data -o out");
    well(room.path(), "sort --verify --merge out out -o data");
    let (code, out, err) = within(room.path(), "sort --verify data");
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1));
    assert!(
        err.contains("verify: standard output: what is written there cannot be read back; name a regular file"),
        "{err}"
    );
    well(room.path(), "gen 1000 numbers --keys i32");
    well(room.path(), "sort --verify --keys i32 numbers -o numbers");
    assert_eq!(within(room.path(), "sort --check --keys i32 numbers").0, 0);
}

/// With -s, lines whose numbers are equal stay as they were.
fn by_number_stable(unsorted: &str) -> String {
    let mut lines: Vec<&str> = unsorted.split_inclusive('\n').collect();
    lines.sort_by_key(|line| line.split_once(' ').unwrap().1.trim_end().parse::<u32>().unwrap());
    lines.concat()
}

#[test]
fn compressed_inputs_are_sorted_as_what_is_in_them() {
    let room = tempfile::tempdir().unwrap();
    let (unsorted, sorted, _) = lines(20_000);
    fs::write(room.path().join("data"), &unsorted).unwrap();
    for (tool, name) in [("gzip", "data.gz"), ("zstd", "data.zst"), ("lz4", "data.lz4")] {
        let file = fs::File::create(room.path().join(name)).unwrap();
        let mut packer = Command::new(tool);
        let packed = packer.args(["-q", "-c", "data"]).current_dir(room.path()).stdout(file).stderr(Stdio::null());
        if !packed.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: no {tool} here");
            continue;
        }
        well(room.path(), &format!("sort --verify {name} -o out"));
        assert!(fs::read(room.path().join("out")).unwrap() == sorted.as_bytes(), "{name}");
        refused(room.path(), &format!("sort --index {name} -o index"), "an index points into a regular file");
    }
}
