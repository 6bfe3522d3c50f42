//! What is installed: names, sizes, flags; and what is left after it was removed.

use super::installed::{
    Folder, Installed, assert_success, can_compile, compiler_for, root, runs, script, script_with, test,
};
use std::path::Path;
use std::process::Command;

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

/// Two libraries written in Rust in one program, linked in either order: each brings its own standard library.
#[test]
fn a_program_links_another_rust_library_too() {
    let source = test("beside.c");
    let rustc = std::env::var("RUSTC").unwrap_or("rustc".to_owned());
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    if !runs(&rustc, "--version") {
        eprintln!("skipped: no rustc");
        return;
    }
    let installed = Installed::new();
    let other = installed.programs.0.join("libother.a");
    let mut compiler = Command::new(rustc);
    compiler.args(["--edition", "2024", "--crate-type", "staticlib", "-o"]).arg(&other).arg(test("programs/other.rs"));
    assert_success(&compiler.output().expect("rustc"), "compiling other.rs");
    let ours = installed.lib().join("libeagre.a");
    for libraries in [[&ours, &other], [&other, &ours]] {
        let program = installed.programs.0.join("beside");
        let mut compiler = compiler_for(&source);
        compiler.arg("-pthread").args(installed.pkg_config("Cflags")).arg("-o").arg(&program).arg(&source);
        compiler.args(libraries).args(installed.pkg_config("Libs.private"));
        assert_success(&compiler.output().expect("the compiler"), &format!("linking {libraries:?}"));
        assert_success(&Command::new(&program).output().expect("the program"), "beside.c");
    }
}

/// The flags of `eagre.pc`, as pkg-config gives them, for the shared library and for a program without any.
#[test]
fn pkg_config_says_how_to_link() {
    let source = test("files.c");
    let installed = Installed::new();
    let empty = installed.programs.0.join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }").expect("a file");
    let program = installed.programs.0.join("program");
    let link = |source: &Path, flags: &[String]| {
        compiler_for(source).arg(source).args(flags).arg("-o").arg(&program).output().expect("the compiler")
    };
    if !can_compile(std::slice::from_ref(&source)) {
        return;
    }
    if !runs("pkg-config", "--version") {
        eprintln!("skipped: no pkg-config");
        return;
    }
    let flags = |arguments: &[&str]| -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.args(arguments).arg("eagre").env("PKG_CONFIG_PATH", installed.lib().join("pkgconfig"));
        let output = command.output().expect("pkg-config");
        assert_success(&output, "pkg-config");
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
    };
    assert_success(&link(&source, &flags(&["--cflags", "--libs"])), "linking the shared library");
    let mut command = Command::new(&program);
    assert_success(&command.env("LD_LIBRARY_PATH", installed.lib()).output().expect("the program"), "files.c");

    if !link(&empty, &["-static".to_owned()]).status.success() {
        eprintln!("skipped: no static C library");
        return;
    }
    let mut all = vec!["-static".to_owned()];
    all.extend(flags(&["--static", "--cflags", "--libs"]));
    assert_success(&link(&source, &all), "linking a static program");
    assert_success(&Command::new(&program).output().expect("the program"), "files.c, static");
}

#[test]
fn what_was_installed_can_be_removed() {
    let folder = Folder::new();
    let (prefix, package) = (folder.0.join("prefix"), folder.0.join("package"));
    std::fs::create_dir_all(prefix.join("lib")).expect("a folder");
    std::fs::create_dir(&package).expect("a folder");
    std::fs::write(prefix.join("lib/libother.so"), "somebody else's").expect("a file");
    for what in ["install", "uninstall"] {
        assert_success(&script(&prefix, what), what);
        let packaged = script_with(Path::new("/usr"), what, &[("DESTDIR", &package)]);
        assert_success(&packaged, &format!("{what} with DESTDIR"));
        let installed =
            [prefix.join("lib"), package.join("usr/lib")].iter().all(|lib| lib.join("libeagre.so").exists());
        assert_eq!(installed, what == "install");
    }
    assert_eq!(all_in(&folder.0), ["package", "prefix", "prefix/lib", "prefix/lib/libother.so"]);
}

/// The names of everything in a folder, in order.
fn all_in(folder: &Path) -> Vec<String> {
    fn add(top: &Path, folder: &Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            names.push(path.strip_prefix(top).expect("it is in there").display().to_string());
            if path.is_dir() && !path.is_symlink() {
                add(top, &path, names);
            }
        }
    }
    let mut names = Vec::new();
    add(folder, folder, &mut names);
    names.sort();
    names
}
