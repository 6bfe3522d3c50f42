//! What cargo's own shared library tells the linker. `tools/install-c.sh` links the one that is installed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The name of the file: a program linked against the build folder finds it there.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libeagre_c.so");
        // The pager's thread and the signal handlers live as long as the process: dlclose must not take their code away.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
