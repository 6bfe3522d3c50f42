//! `eagre count` gives the answers of `wc` whatever the plan, the vector instructions and the number of threads; says
//! which it took; and survives files that change under it.
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{eagre, parts};

const MIB: usize = 1 << 20;

fn count(folder: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = eagre();
    command.current_dir(folder).arg("count").args(arguments).envs(environment.iter().copied()).output().unwrap()
}

/// Files of all kinds and sizes, and their names.
fn corpus(folder: &Path) -> Vec<&'static str> {
    let text: Vec<u8> =
        b"some words,\ta tab \xff\x01 and \r\n\nmore\n".iter().copied().cycle().take(5 * MIB + 7).collect();
    let binary: Vec<u8> = (0..3 * MIB as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
    for (name, bytes) in [
        ("empty", vec![]),
        ("one", b"x".to_vec()),
        ("no newline", b"one two\nthree".to_vec()),
        ("text", text),
        ("binary", binary),
        ("line", vec![b'x'; 64 * MIB]),
        ("whole pieces", b"a\n".repeat(4 * MIB)),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
    vec!["empty", "one", "no newline", "text", "binary", "line", "whole pieces"]
}

#[test]
fn all_plans_instructions_and_threads_agree_with_wc() {
    let folder = tempfile::tempdir().unwrap();
    let names = corpus(folder.path());
    let gnu = Command::new("wc").arg("--version").output().is_ok_and(|it| it.stdout.starts_with(b"wc (GNU"));
    if !gnu {
        eprintln!("skipped: wc is not GNU wc");
        return;
    }
    // Without optimisation, the width of the longest takes its time.
    let lines: &[&str] = &["-lc", "line"];
    let all: Vec<&str> = ["-lwcL"].into_iter().chain(names.into_iter().filter(|name| *name != "line")).collect();
    for arguments in [lines, &all] {
        let wc = Command::new("wc").current_dir(folder.path()).env("LC_ALL", "C").args(arguments).output();
        let wc = String::from_utf8(wc.unwrap().stdout).unwrap();
        for (plan, simd, threads) in ways() {
            let environment = [("EAGRE_PLAN", plan), ("EAGRE_SIMD", simd)];
            let (code, out, err) = parts(&count(folder.path(), &environment, &[&["-j", threads], arguments].concat()));
            if err.contains("this processor has no such instructions") {
                assert_eq!(code, 2);
                continue;
            }
            assert_eq!((code, out.as_str(), err.as_str()), (0, wc.as_str(), ""), "{plan} {simd} {threads}");
        }
    }
}

/// Plans, instructions and numbers of threads: each plan with each number, and all instructions with one of them.
fn ways() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let plans = ["", "map", "read", "direct", "stream"];
    let simd = ["portable", "avx2", "avx512", "neon"];
    let plans = plans.into_iter().flat_map(|plan| ["1", "2", "7"].map(|threads| (plan, "", threads)));
    plans.chain(simd.into_iter().map(|simd| ("map", simd, "2")))
}

#[test]
fn explanations_name_the_plan_and_leave_the_results_alone() {
    let folder = tempfile::tempdir().unwrap();
    corpus(folder.path());
    let plain = parts(&count(folder.path(), &[], &["-l", "line", "one"]));
    for (plan, threads) in [("map", "2 threads"), ("read", "2 threads"), ("direct", "2 threads"), ("stream", "")] {
        let arguments = ["-l", "-j2", "--explain", "line", "one"];
        let (code, out, err) = parts(&count(folder.path(), &[("EAGRE_PLAN", plan)], &arguments));
        assert_eq!((code, &out), (0, &plain.1));
        let lines: Vec<&str> = err.lines().collect();
        assert!(lines[0].starts_with(&format!("eagre: explain: line: plan {plan}, {threads}")), "{err}");
        assert!(lines[0].contains("it was asked for; ") && lines[0].contains("/s"), "{err}");
        assert!(lines[1].starts_with("eagre: explain: one: plan read, 1 thread: 1 bytes are too few"), "{err}");
        assert_eq!(lines.len(), 2, "{err}");
    }
    // Nobody tells what it is in, so one of three; but always why.
    let (code, out, err) = parts(&count(folder.path(), &[], &["-l", "-j1", "--explain", "--json", "line"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let explain = &json["files"][0]["explain"];
    assert!(["map", "read", "direct"].contains(&explain["plan"].as_str().unwrap()), "{out}");
    assert!(!explain["why"].as_str().unwrap().is_empty(), "{out}");
    assert_eq!(explain["threads"], 1);
    assert!(explain["bytes_per_second"].as_u64().unwrap() > 0, "{out}");

    let (_, _, err) = parts(&count(folder.path(), &[], &["-c", "--explain", "text"]));
    assert_eq!(err, "eagre: explain: text: not read: the file system knows its size\n");
}

#[test]
fn there_is_at_least_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "a\n").unwrap();
    let (code, _, err) = parts(&count(folder.path(), &[], &["-j0", "f"]));
    assert_eq!(code, 2);
    assert!(err.contains("0"), "{err}");
}

#[test]
fn a_file_that_is_cut_while_it_is_mapped_is_an_error_and_no_signal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vast");
    let file = File::create(&path).unwrap();
    // Far more than can be counted before it is cut.
    if file.set_len(1 << 40).is_err() {
        eprintln!("skipped: no sparse files of 1 TiB here");
        return;
    }
    let mut command = eagre();
    command.args(["count", "-l"]).arg(&path).env("EAGRE_PLAN", "map");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let maps = format!("/proc/{}/maps", child.id());
    while !fs::read_to_string(&maps).unwrap_or_default().contains("/vast") {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it mapped the file");
        std::thread::yield_now();
    }
    file.set_len(4096).unwrap();
    let (code, _, err) = parts(&child.wait_with_output().unwrap());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("the file became shorter while it was read; it ends at 4096 now"), "{err}");
}
