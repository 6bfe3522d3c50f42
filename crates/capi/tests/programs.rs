//! C, C++ and Python programs against the installed library, under every trap and mover that works here.
//!
//! The library is installed by `tools/install-c.sh` into a folder of its own, so that script, `eagre.pc`, headers and
//! both kinds of library are tested with them. Where a compiler or an interpreter is missing, the test says so and passes.

use eagre::Trap;
use eagre::probe::{self, Pair};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A folder that goes away with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("eagre-c-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir(&folder.0).expect("a folder");
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The library, installed for all tests that run at the same time, and a folder for the programs of one of them.
struct Installed {
    tree: Arc<Folder>,
    programs: Folder,
}

impl Installed {
    fn new() -> Installed {
        static TREE: Mutex<Weak<Folder>> = Mutex::new(Weak::new());
        let mut known = TREE.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = known.upgrade().unwrap_or_else(|| {
            let tree = Arc::new(Folder::new());
            assert_success(&script(&tree.0, "install"), "tools/install-c.sh");
            tree
        });
        *known = Arc::downgrade(&tree);
        Installed { tree, programs: Folder::new() }
    }

    fn lib(&self) -> PathBuf {
        self.tree.0.join("lib")
    }

    /// A line of `eagre.pc`, as a linker wants it.
    fn pkg_config(&self, key: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.lib().join("pkgconfig/eagre.pc")).expect("eagre.pc");
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let value = line.unwrap_or_else(|| panic!("{key} in eagre.pc")).to_owned();
        let lib = self.lib().display().to_string();
        let value = value
            .replace("${libdir}", &lib)
            .replace("${includedir}", &self.tree.0.join("include").display().to_string());
        value.split_whitespace().map(str::to_owned).collect()
    }

    /// Compiles a program against the shared or the static library.
    fn compile(&self, source: &Path, linkage: Linkage) -> PathBuf {
        let stem = source.file_stem().expect("a name").to_string_lossy().into_owned();
        let program = self.programs.0.join(format!("{stem}-{linkage:?}"));
        let mut compiler = compiler_for(source);
        compiler.args(WARNINGS).args(["-O2", "-pthread", "-o"]).arg(&program).arg(source);
        compiler.args(self.pkg_config("Cflags"));
        match linkage {
            Linkage::Shared => {
                compiler.args(self.pkg_config("Libs")).arg(format!("-Wl,-rpath,{}", self.lib().display()));
            }
            Linkage::Static => {
                compiler.arg(self.lib().join("libeagre.a")).args(self.pkg_config("Libs.private"));
            }
        }
        compiler.args(["-lz", "-ldl"].into_iter().filter(|library| *library == "-ldl" || stem.starts_with("zlib")));
        assert_success(&compiler.output().expect("the compiler"), &format!("compiling {stem}"));
        program
    }
}

/// Runs the script that installs the library, or removes it.
fn script(prefix: &Path, what: &str) -> Output {
    // Cargo leaves the libraries beside this test.
    let test = std::env::current_exe().expect("the test's own path");
    let from = test.parent().expect("a folder");
    let mut command = Command::new("sh");
    command.arg(root().join("tools/install-c.sh")).arg(what).env("PREFIX", prefix).env("FROM", from);
    command.output().expect("sh")
}

#[derive(Clone, Copy, Debug)]
enum Linkage {
    Shared,
    Static,
}

/// The project's sources, or the copy of them that `EAGRE_SOURCES` names where the checkout cannot be read.
fn root() -> PathBuf {
    std::env::var_os("EAGRE_SOURCES").map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), PathBuf::from)
}

fn example(name: &str) -> PathBuf {
    root().join("examples/c").join(name)
}

fn test(name: &str) -> PathBuf {
    root().join("crates/capi/tests").join(name)
}

/// The compiler and language standard for a source file.
fn compiler_for(source: &Path) -> Command {
    let (variable, default, standard) = match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => ("CC", "cc", "-std=c11"),
        _ => ("CXX", "c++", "-std=c++17"),
    };
    let mut command = Command::new(std::env::var_os(variable).unwrap_or(default.into()));
    command.arg(standard);
    command
}

fn runs(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Whether there are compilers for these sources; says so if not.
fn can_compile(sources: &[PathBuf]) -> bool {
    let missing =
        sources.iter().find(|source| !compiler_for(source).arg("--version").output().is_ok_and(|o| o.status.success()));
    if let Some(source) = missing {
        eprintln!("skipped: no compiler for {}", source.display());
    }
    missing.is_none()
}

/// Whether zlib can be linked; says so if not.
fn has_zlib(installed: &Installed) -> bool {
    let source = installed.programs.0.join("zlib_there.c");
    let text = "#include <zlib.h>\nint main(void) { return zlibVersion() == 0; }\n";
    std::fs::write(&source, text).expect("a source file");
    let mut compiler = compiler_for(&source);
    let found = compiler.arg(&source).arg("-o").arg(installed.programs.0.join("zlib_there")).arg("-lz").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: no zlib to compile with");
    }
    found
}

fn pairs() -> Vec<Pair> {
    let (works, refused): (Vec<_>, Vec<_>) = probe::examine().into_iter().partition(|status| status.refusal.is_none());
    for status in refused {
        eprintln!("skipped: {}: {}", status.pair, status.refusal.unwrap_or_default());
    }
    works.into_iter().map(|status| status.pair).collect()
}

fn run(program: &Path, arguments: &[&str], pair: Pair) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("EAGRE_TRAP", pair.trap.to_string()).env("EAGRE_MOVER", pair.mover.to_string());
    command.output().expect("the program")
}

fn assert_success(output: &Output, what: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{out}{err}", output.status);
}

/// Runs a program in every way there is, with pointers or without.
fn run_everywhere(installed: &Installed, source: &Path, arguments: &[&str], without_pointers: bool) {
    let pairs = pairs();
    for linkage in [Linkage::Shared, Linkage::Static] {
        let program = installed.compile(source, linkage);
        for &pair in pairs.iter().filter(|pair| without_pointers || pair.trap != Trap::Off) {
            let output = run(&program, arguments, pair);
            assert_success(&output, &format!("{} under {pair}", program.display()));
        }
    }
}

#[test]
fn examples() {
    let sources = ["fill_and_search.c", "sum_pair.c", "numbers.cpp"].map(example);
    if !can_compile(&sources) {
        return;
    }
    let installed = Installed::new();
    for source in &sources {
        for bytes in ["4000", "300000000"] {
            run_everywhere(&installed, source, &[bytes], false);
        }
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
        run_everywhere(&installed, &source, &["50000001", "0"], false);
        run_everywhere(&installed, &source, &["20000000", "6"], false);
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
    let sources = ["fill_and_search.c", "sum_pair.c", "numbers.cpp", "zlib_over_4gib.c"].map(example);
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
        "vector.c",
        "partition.c",
        "raii.cpp",
        "arrays.cpp",
    ]
    .map(test);
    if can_compile(&sources) {
        let installed = Installed::new();
        sources.iter().for_each(|source| run_everywhere(&installed, source, &[], true));
    }
}

/// Arrays of the caller know no traps and movers.
#[test]
fn sorting() {
    let source = test("sort.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    for linkage in [Linkage::Shared, Linkage::Static] {
        let program = installed.compile(&source, linkage);
        assert_success(&Command::new(&program).output().expect("the program"), "sort.c");
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
    let output = run(&program, &["4000"], probe::PAIRS[3]);
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

/// The names and versions that `nm` finds defined in a library for others.
fn exported(library: &Path, flags: &[&str]) -> Vec<String> {
    let output = Command::new("nm").args(flags).arg("--defined-only").arg(library).output().expect("nm");
    assert_success(&output, "nm");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(' ')?.1.split_once(' '))
        .filter(|(kind, _)| *kind == "T" || *kind == "D" || *kind == "B" || *kind == "R" || *kind == "W")
        .map(|(_, name)| name.to_owned())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn both_libraries_show_the_header_and_nothing_else() {
    if !runs("nm", "--version") {
        eprintln!("skipped: no nm");
        return;
    }
    let installed = Installed::new();
    let header = std::fs::read_to_string(root().join("include/eagre.h")).expect("include/eagre.h");
    let code = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut declared: Vec<&str> = code
        .filter_map(|line| {
            let start = line.find("eagre_")?;
            line[start..].split('(').next().filter(|_| line[start..].contains('('))
        })
        .collect();
    declared.sort_unstable();
    let versioned: Vec<String> = declared.iter().map(|name| format!("{name}@@EAGRE_0")).collect();
    assert_eq!(exported(&installed.lib().join("libeagre.so"), &["-D"]), versioned);
    assert_eq!(exported(&installed.lib().join("libeagre.a"), &["-g"]), declared);
}

/// What is installed holds no debug information and no code of the compiler's own kind.
#[test]
fn both_libraries_are_stripped() {
    if !runs("readelf", "--version") {
        eprintln!("skipped: no readelf");
        return;
    }
    let installed = Installed::new();
    for library in ["libeagre.so", "libeagre.a"] {
        let output = Command::new("readelf").arg("-SW").arg(installed.lib().join(library)).output().expect("readelf");
        assert_success(&output, "readelf");
        let sections = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            sections.contains(".text") && !sections.contains(".debug_") && !sections.contains(".llvmbc"),
            "{library}"
        );
    }
}

/// Without being installed: a program linked against the build folder finds the library there.
#[test]
fn the_build_folder_serves_as_well() {
    let source = test("files.c");
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    let installed = Installed::new();
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().expect("a folder");
    let program = installed.programs.0.join("beside");
    let mut compiler = compiler_for(&source);
    compiler.args(["-pthread", "-o"]).arg(&program).arg(&source).arg("-I").arg(root().join("include"));
    compiler.arg("-L").arg(folder).args(["-leagre_c", &format!("-Wl,-rpath,{}", folder.display())]);
    assert_success(&compiler.output().expect("the compiler"), "compiling against the build folder");
    assert_success(&Command::new(&program).output().expect("the program"), "a program beside the build folder");
}

#[test]
fn what_was_installed_can_be_removed() {
    let folder = Folder::new();
    assert_success(&script(&folder.0, "install"), "tools/install-c.sh");
    std::fs::write(folder.0.join("lib/libother.so"), "somebody else's").expect("a file");
    assert_success(&script(&folder.0, "uninstall"), "tools/install-c.sh uninstall");
    let left = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(left(&folder.0), ["lib"]);
    assert_eq!(left(&folder.0.join("lib")), ["libother.so"]);
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
