//! C, C++ and Python programs against the installed library, under every trap and mover that works here.
//!
//! The library is installed by `tools/install-c.sh` into a folder of its own, so that script, `eagre.pc`, headers and
//! both kinds of library are tested with them. Where a compiler or an interpreter is missing, the test says so and passes.

mod installed;
mod packages;

use eagre::Trap;
use eagre::probe::{self, Pair};
use installed::{Installed, Linkage, assert_success, can_compile, example, has_zlib, is_copy, root, runs, test};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

fn pairs() -> Vec<Pair> {
    let (works, refused): (Vec<_>, Vec<_>) = probe::examine().into_iter().partition(|status| status.refusal.is_none());
    for status in refused {
        eprintln!("skipped: {}: {}", status.pair, status.refusal.unwrap_or_default());
    }
    works.into_iter().map(|status| status.pair).collect()
}

/// Runs a program in its own folder, where it may leave files.
fn run(program: &Path, arguments: &[&str], pair: Pair) -> Output {
    let mut command = Command::new(program);
    command.current_dir(program.parent().expect("a folder"));
    command.args(arguments).env("EAGRE_TRAP", pair.trap.to_string()).env("EAGRE_MOVER", pair.mover.to_string());
    command.output().expect("the program")
}

/// Runs a program under every trap and mover, with pointers or without. Linked statically, it runs under the first pair only: linking
/// does not change what the system moves.
fn run_everywhere(installed: &Installed, source: &Path, arguments: &[&str], without_pointers: bool) {
    let pairs: Vec<_> = pairs().into_iter().filter(|pair| without_pointers || pair.trap != Trap::Off).collect();
    let run_under = |linkage, count| {
        let program = installed.compile(source, linkage);
        for &pair in pairs.iter().take(count) {
            assert_success(&run(&program, arguments, pair), &format!("{} under {pair}", program.display()));
        }
    };
    run_under(Linkage::Shared, pairs.len());
    // A copy of the sources is for users without privileges, and linking does not change what those may do.
    if !is_copy() {
        run_under(Linkage::Static, 1);
    }
}

#[test]
fn examples() {
    let sources = ["fill_and_search.c", "sum_pair.c", "two_processes.c", "numbers.cpp"].map(example);
    if !can_compile(&sources) {
        return;
    }
    let installed = Installed::new();
    for source in &sources {
        for bytes in ["4000", "100000000"] {
            run_everywhere(&installed, source, &[bytes], false);
        }
    }
    let program = installed.compile(&sources[2], Linkage::Shared);
    for bytes in ["x", "", "8x", "7", "-8"] {
        let output = Command::new(&program).arg(bytes).output().expect("the program");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{bytes}: {said}");
        assert_eq!(said, format!("two_processes: {bytes}: give a number of bytes, 8 to 64 TiB\n"));
    }
}

#[test]
fn zlib() {
    let source = example("zlib_over_4gib.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    if has_zlib(&installed) {
        // Everything at once is for a quiet hour; borders of blocks, stored and packed, are here.
        run_everywhere(&installed, &source, &["20000001", "0"], false);
        run_everywhere(&installed, &source, &["8000000", "6"], false);
    }
}

#[test]
fn a_file_in_capital_letters() {
    let source = example("upper.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    let (from, to) = (installed.programs.0.join("small"), installed.programs.0.join("LARGE"));
    let text = "a wave, and another wave;\n".repeat(300_000);
    std::fs::write(&from, &text).expect("a file");
    let program = installed.compile(&source, Linkage::Shared);
    let (from, to) = (from.to_str().expect("a path"), to.to_str().expect("a path"));
    for pair in pairs().into_iter().filter(|pair| pair.trap != Trap::Off) {
        let output = run(&program, &[from, to, "WAVE"], pair);
        assert_success(&output, &format!("upper under {pair}"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "600000\n");
        assert!(std::fs::read_to_string(to).expect("the copy") == text.to_uppercase());
        std::fs::remove_file(to).expect("the copy");
    }
}

#[test]
fn examples_of_sorting() {
    let sources = ["median.c", "ranking.cpp"].map(example);
    if !can_compile(&sources) {
        return;
    }
    let installed = Installed::new();
    let said = |source: &Path, count: &str| {
        let program = installed.compile(source, Linkage::Shared);
        let output = Command::new(program).arg(count).output().expect("the program");
        assert_success(&output, &format!("{}", source.display()));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // What Rust's own sort makes of the same numbers.
    let mut numbers: Vec<u64> = (0..100_001).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    numbers.sort();
    let median = said(&sources[0], "100001");
    assert!(median.starts_with(&format!("median {} of 100001 numbers, ", numbers[50_000])), "{median}");
    let ranking = said(&sources[1], "100001");
    let lines: Vec<&str> = ranking.lines().collect();
    assert!(
        lines.len() == 4 && lines[0].starts_with("1. runner ") && lines[3].starts_with("half of them in 2"),
        "{ranking}"
    );
}

/// Minutes: 8 GiB and 4.5 GiB in every way there is. `EAGRE_LONG=1 cargo test --release -p eagre-capi`
#[test]
fn examples_at_full_size() {
    if std::env::var_os("EAGRE_LONG").is_none() {
        return eprintln!("skipped: the examples at full size: set EAGRE_LONG=1");
    }
    let sources =
        ["fill_and_search.c", "sum_pair.c", "two_processes.c", "numbers.cpp", "zlib_over_4gib.c"].map(example);
    if !can_compile(&sources) {
        return;
    }
    let installed = Installed::new();
    let has_zlib = has_zlib(&installed);
    for source in sources.iter().filter(|source| has_zlib || !source.ends_with("zlib_over_4gib.c")) {
        run_everywhere(&installed, source, &[], false);
    }
}

/// The code on the pages is compiled and run as it stands.
#[test]
fn code_on_the_pages() {
    let installed = Installed::new();
    let mut sources = Vec::new();
    for page in ["README.md", "docs/c.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        let blocks = text.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next());
        for code in blocks {
            let source = installed.programs.0.join(format!("page-{}.c", sources.len()));
            std::fs::write(&source, code).expect("a file");
            sources.push(source);
        }
    }
    assert!(sources.len() >= 3, "pages without code");
    if can_compile(&sources) {
        for source in &sources {
            let program = installed.compile(source, Linkage::Shared);
            for pair in pairs().into_iter().filter(|pair| pair.trap != Trap::Off) {
                assert_success(&run(&program, &[], pair), &format!("{} under {pair}", source.display()));
            }
        }
    }
}

#[test]
fn the_whole_interface() {
    let sources = [
        "misuse.c",
        "ends.c",
        "service.c",
        "callbacks.c",
        "files.c",
        "network.c",
        "process.c",
        "vector.c",
        "partition.c",
        "raii.cpp",
        "network.cpp",
        "process.cpp",
        "arrays.cpp",
    ]
    .map(test);
    if can_compile(&sources) {
        let (installed, next) = (Installed::new(), Mutex::new(sources.iter()));
        let work = || {
            while let Some(source) = next.lock().map_or(None, |mut next| next.next()) {
                run_everywhere(&installed, source, &[], true);
            }
        };
        // Most of them wait now and then.
        std::thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
    }
}

/// Arrays of the caller, and sorts of files and streams, know no traps and movers.
#[test]
fn sorting() {
    let sources =
        ["sort.c", "sort_files.c", "sort_text.c", "sort_settings.c", "sort_index.c", "kernels.c", "records.cpp"]
            .map(test);
    if !can_compile(&sources) {
        return;
    }
    let installed = Installed::new();
    let run = |source, linkage| {
        let program = installed.compile(source, linkage);
        let output = Command::new(&program).output().expect("the program");
        assert_success(&output, &program.display().to_string());
    };
    sources.iter().for_each(|source| run(source, Linkage::Shared));
    // Linking does not change what they sort: one program of each language is enough.
    ["sort.c", "records.cpp"].map(test).iter().for_each(|source| run(source, Linkage::Static));
}

/// Nothing stays of what is opened, used, fails and is closed, however often.
#[test]
fn failing_again_and_again() {
    let source = test("again.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    let program = installed.compile(&source, Linkage::Shared);
    let room = installed.programs.0.to_str().expect("a path");
    for pair in pairs() {
        assert_success(&run(&program, &[room], pair), &format!("again.c under {pair}"));
    }
}

#[test]
fn an_example_without_pointers_says_so() {
    let source = example("sum_pair.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    let program = installed.compile(&source, Linkage::Shared);
    let output = run(&program, &["4000"], probe::PAIRS[4]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("this stream has no pointers; use reserve/commit"), "{text}");
}

#[test]
fn the_library_stays_when_it_is_unloaded() {
    let source = test("unload.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    let program = installed.compile(&source, Linkage::Shared);
    let library = installed.lib().join("libeagre.so");
    for pair in pairs() {
        assert_success(&run(&program, &[library.to_str().expect("a path")], pair), &format!("unloading under {pair}"));
    }
}

#[test]
fn system_calls_on_pointers_from_python() {
    python("ctypes_read.py");
}

#[test]
fn pythons_faulthandler_comes_late() {
    python("faulthandler_late.py");
}

/// Runs a script on the installed library.
fn python(script: &str) {
    if !runs("python3", "--version") {
        eprintln!("skipped: no python3");
        return;
    }
    let installed = Installed::new();
    let output = Command::new("python3").arg(test(script)).arg(installed.lib().join("libeagre.so")).output();
    let output = output.expect("python3");
    if output.status.code() == Some(77) {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    assert_success(&output, script);
}
