//! Another library for C that is written in Rust, with a standard library of its own. `packages.rs` compiles it.

use std::collections::HashMap;

/// Twice `x` and two, by way of a thread, an allocation and a panic that stays here.
#[unsafe(no_mangle)]
pub extern "C" fn other_library(x: i32) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let thread = std::thread::spawn(move || {
        let map = HashMap::from([("x", x)]);
        std::panic::panic_any(map["x"] + 1);
    });
    let payload = thread.join().expect_err("it panics");
    payload.downcast_ref::<i32>().map_or(0, |number| number * 2)
}
