//! The library, installed for the tests, and programs compiled against it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A folder that goes away with this value.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
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
pub(crate) struct Installed {
    tree: Arc<Folder>,
    pub(crate) programs: Folder,
}

impl Installed {
    pub(crate) fn new() -> Installed {
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

    pub(crate) fn lib(&self) -> PathBuf {
        self.tree.0.join("lib")
    }

    /// A line of `eagre.pc`, as a linker wants it.
    pub(crate) fn pkg_config(&self, key: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.lib().join("pkgconfig/eagre.pc")).expect("eagre.pc");
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let value = line.unwrap_or_else(|| panic!("{key} in eagre.pc")).to_owned();
        let lib = self.lib().display().to_string();
        let value = value
            .replace("${libdir}", &lib)
            .replace("${includedir}", &self.tree.0.join("include").display().to_string());
        value.split_whitespace().map(str::to_owned).collect()
    }

    /// Compiles a program against the shared or the static library: once for both, and linked for each.
    pub(crate) fn compile(&self, source: &Path, linkage: Linkage) -> PathBuf {
        let stem = source.file_stem().expect("a name").to_string_lossy().into_owned();
        let name = source.file_name().expect("a name").to_string_lossy();
        let (object, program) =
            (self.programs.0.join(format!("{name}.o")), self.programs.0.join(format!("{stem}-{linkage:?}")));
        if !object.exists() {
            let mut compiler = compiler_for(source);
            compiler.args(WARNINGS).args(["-O2", "-pthread", "-c", "-o"]).arg(&object).arg(source);
            compiler.args(self.pkg_config("Cflags"));
            assert_success(&compiler.output().expect("the compiler"), &format!("compiling {name}"));
        }
        let mut compiler = compiler_for(source);
        compiler.args(["-pthread", "-o"]).arg(&program).arg(&object);
        match linkage {
            Linkage::Shared => {
                compiler.args(self.pkg_config("Libs")).arg(format!("-Wl,-rpath,{}", self.lib().display()));
            }
            Linkage::Static => {
                compiler.arg(self.lib().join("libeagre.a")).args(self.pkg_config("Libs.private"));
            }
        }
        compiler.args(["-lz", "-ldl"].into_iter().filter(|library| *library == "-ldl" || stem.starts_with("zlib")));
        assert_success(&compiler.output().expect("the compiler"), &format!("linking {stem}"));
        program
    }
}

/// Runs the script that installs the library, or removes it.
pub(crate) fn script(prefix: &Path, what: &str) -> Output {
    script_with(prefix, what, &[])
}

/// The same with more in its environment.
pub(crate) fn script_with(prefix: &Path, what: &str, environment: &[(&str, &Path)]) -> Output {
    // Cargo leaves the libraries beside this test.
    let test = std::env::current_exe().expect("the test's own path");
    let from = test.parent().expect("a folder");
    let mut command = Command::new("sh");
    command.arg(root().join("tools/install-c.sh")).arg(what).env("PREFIX", prefix).env("FROM", from);
    command.envs(environment.iter().copied());
    command.output().expect("sh")
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Linkage {
    Shared,
    Static,
}

/// The project's sources, or the copy of them that `EAGRE_SOURCES` names where the checkout cannot be read.
pub(crate) fn root() -> PathBuf {
    std::env::var_os("EAGRE_SOURCES").map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), PathBuf::from)
}

/// Whether `root` is a copy of the sources.
pub(crate) fn is_copy() -> bool {
    std::env::var_os("EAGRE_SOURCES").is_some()
}

pub(crate) fn example(name: &str) -> PathBuf {
    root().join("examples/c").join(name)
}

pub(crate) fn test(name: &str) -> PathBuf {
    root().join("crates/capi/tests").join(name)
}

/// The compiler and language standard for a source file.
pub(crate) fn compiler_for(source: &Path) -> Command {
    let (variable, default, standard) = match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => ("CC", "cc", "-std=c11"),
        _ => ("CXX", "c++", "-std=c++17"),
    };
    let mut command = Command::new(std::env::var_os(variable).unwrap_or(default.into()));
    command.arg(standard);
    command
}

pub(crate) fn runs(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Whether there are compilers for these sources; says so if not.
pub(crate) fn can_compile(sources: &[PathBuf]) -> bool {
    let missing =
        sources.iter().find(|source| !compiler_for(source).arg("--version").output().is_ok_and(|o| o.status.success()));
    if let Some(source) = missing {
        eprintln!("skipped: no compiler for {}", source.display());
    }
    missing.is_none()
}

/// Whether zlib can be linked; says so if not.
pub(crate) fn has_zlib(installed: &Installed) -> bool {
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

pub(crate) fn assert_success(output: &Output, what: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{out}{err}", output.status);
}
