//! What the shared library tells the linker.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The name programs ask for at run time; it changes with the binary interface, not with each version.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libeagre.so.0");
        // The pager's thread and the signal handlers live as long as the process: dlclose must not take their code away.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
