//! Sorts written in C++: built into a library when they are asked for, called from this program on its own array.
//!
//! The sources are in `peers/sort`, the libraries they use come from the system; the compiler runs once for each
//! source and processor, and what it makes is kept in the user's cache.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use super::array::Plain;
use crate::catalogue::Foreign;
use crate::contenders::Trouble;
use crate::contenders::compiler::{cache, run};
use crate::corpus::Store;

/// A library of sorts.
struct Source {
    name: &'static str,
    text: &'static str,
    /// What the compiler is told beside [`FLAGS`].
    flags: &'static [&'static str],
    /// How to get what it needs.
    cure: &'static str,
}

/// What it is always told.
const FLAGS: [&str; 5] = ["-std=c++17", "-O3", "-shared", "-fPIC", "-pthread"];

const VQSORT: Source = Source {
    name: "vqsort",
    text: include_str!("../../../peers/sort/vqsort.cpp"),
    flags: &["-march=native", "-DHWY_COMPILE_ONLY_STATIC"],
    cure: "./dev setup fetches its headers from NumPy's sources",
};

const X86_SIMD_SORT: Source = Source {
    name: "x86simdsort",
    text: include_str!("../../../peers/sort/x86simdsort.cpp"),
    flags: &["-march=native", "-fopenmp", "-DXSS_USE_OPENMP"],
    cure: "./dev setup fetches its headers from NumPy's sources",
};

const IPS4O: Source = Source {
    name: "ips4o",
    text: include_str!("../../../peers/sort/ips4o.cpp"),
    flags: &["-march=native", "-fopenmp", "-mcx16", "-latomic"],
    cure: "apt-get install g++ libips4o-dev",
};

const BOOST: Source = Source {
    name: "boost",
    text: include_str!("../../../peers/sort/boost.cpp"),
    flags: &["-march=native"],
    cure: "apt-get install g++ libboost-dev",
};

/// The library a sort is in, and the beginning of its name there.
fn place(foreign: Foreign) -> (&'static Source, &'static str) {
    match foreign {
        Foreign::Vqsort => (&VQSORT, "vqsort"),
        Foreign::X86SimdSort => (&X86_SIMD_SORT, "x86simdsort"),
        Foreign::Ips4o => (&IPS4O, "ips4o"),
        Foreign::Spreadsort => (&BOOST, "spreadsort"),
        Foreign::Pdqsort => (&BOOST, "pdqsort"),
        Foreign::BlockIndirect => (&BOOST, "block_indirect"),
        Foreign::Spinsort => (&BOOST, "spinsort"),
    }
}

/// The library `foreign` is in, built if it is not there.
pub(crate) fn library(foreign: Foreign, store: &Store) -> Result<PathBuf, Trouble> {
    let (source, _) = place(foreign);
    // One compiler at a time, and what failed once is not tried again.
    static FAILED: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());
    let mut failed = FAILED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, why)) = failed.iter().find(|(name, _)| *name == source.name) {
        return Err(Trouble::Unavailable(why.clone()));
    }
    build(source, store).map_err(|why| {
        let why = format!("{}: c++: {why}; {}", source.name, source.cure);
        failed.push((source.name, why.clone()));
        Trouble::Unavailable(why)
    })
}

fn build(source: &Source, store: &Store) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    (source.text, source.flags, FLAGS, crate::machine::Machine::here().cpu).hash(&mut hasher);
    let name = format!("{}-{:016x}.so", source.name, hasher.finish());
    let kept = cache().filter(|cache| std::fs::create_dir_all(cache).is_ok());
    let path = match &kept {
        Some(cache) => cache.join(&name),
        None => store.tool(&name).map_err(|_| "no place for what it makes".to_owned())?,
    };
    if path.is_file() {
        return Ok(path);
    }
    let room = path.with_extension(format!("{}.new", std::process::id()));
    let mut command = compiler(source.flags, &room);
    // The headers `./dev setup` brought.
    if let Some(cache) = &kept {
        command.arg("-I").arg(cache.join("x86-simd-sort")).arg("-I").arg(cache.join("highway"));
    }
    let made = run(&mut command, source.text).and_then(|()| std::fs::rename(&room, &path).map_err(|e| e.to_string()));
    let _ = std::fs::remove_file(&room);
    made.map(|()| path)
}

/// The compiler, to make a library at `path` of what it reads.
fn compiler(flags: &[&str], path: &Path) -> Command {
    let mut command = Command::new("c++");
    command.args(FLAGS).args(["-x", "c++", "-"]).args(flags).arg("-o").arg(path);
    command
}

/// Makes a library at `path` of the C++ in `text`.
#[cfg(test)]
pub(crate) fn compile(text: &str, path: &Path) -> Result<(), String> {
    run(&mut compiler(&[], path), text)
}

/// A function of such a library that sorts keys of one kind.
pub(crate) struct Function<T>(unsafe extern "C" fn(*mut T, usize, c_uint));

/// What a kind of keys is called in the names of functions.
pub(crate) trait Named: Plain {
    const NAME: &'static str;
}

macro_rules! named {
    ($($type:ty, $name:literal;)*) => {
        $(impl Named for $type {
            const NAME: &'static str = $name;
        })*
    };
}

named! {
    u32, "u32";
    i32, "i32";
    f32, "f32";
    i64, "i64";
    u64, "u64";
    f64, "f64";
    u128, "u128";
    [u64; 2], "pair";
}

/// The symbol `name` of `library`; null if it has none.
fn symbol(library: &Path, name: &str) -> Result<*mut c_void, Trouble> {
    let path = CString::new(library.as_os_str().as_bytes()).map_err(|e| Trouble::failed("library", e))?;
    let name = CString::new(name).map_err(|e| Trouble::failed("library", e))?;
    // SAFETY: strings that end with a zero. What the library does when it is loaded is make its standard streams and
    // threads ready; it is never unloaded, so what the symbol names stays where it is.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            let why = libc::dlerror();
            let why = if why.is_null() { c"it cannot be loaded" } else { CStr::from_ptr(why) };
            return Err(Trouble::Unavailable(why.to_string_lossy().into_owned()));
        }
        Ok(libc::dlsym(handle, name.as_ptr()))
    }
}

/// What `library` says it was built with, if it does.
pub(crate) fn version(library: &Path) -> Result<Option<String>, Trouble> {
    let symbol = symbol(library, "version")?;
    if symbol.is_null() {
        return Ok(None);
    }
    // SAFETY: in these sources that is a function without arguments that gives a string for good.
    let text = unsafe {
        let version = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(symbol);
        CStr::from_ptr(version())
    };
    Ok(Some(text.to_string_lossy().into_owned()))
}

/// The function of `library` that is `foreign` for keys of this kind, if it has one.
pub(crate) fn function<T: Named>(library: &Path, foreign: Foreign) -> Result<Option<Function<T>>, Trouble> {
    let symbol = symbol(library, &format!("{}_{}", place(foreign).1, T::NAME))?;
    if symbol.is_null() {
        return Ok(None);
    }
    // SAFETY: every function of these sources whose name ends in that of `T` is of this type: it takes keys of that
    // kind, their number, and a number of threads.
    Ok(Some(Function(unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut T, usize, c_uint)>(symbol)
    })))
}

impl<T: Plain> Function<T> {
    /// Sorts `keys`.
    pub(crate) fn sort(&self, keys: &mut [T], threads: usize) {
        // SAFETY: so many keys, borrowed exclusively; the function keeps to them and leaves keys there.
        unsafe { (self.0)(keys.as_mut_ptr(), keys.len(), threads as c_uint) }
    }
}
