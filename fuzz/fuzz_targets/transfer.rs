//! What the other side of a transfer may say: anything. It is understood or an error, and names stay names.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eagre_net::transfer::read_anything(bytes));
