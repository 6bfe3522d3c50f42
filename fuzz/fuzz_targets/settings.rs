//! Every text that settings are read from: nothing panics, and what is understood means what it says.
#![no_main]

use eagre_mem::options::parse_bytes;
use eagre_mem::{BlockSize, Mover, Trap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(bytes) = parse_bytes(text) {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let number: u64 = digits.parse().expect("starts with a number");
        assert!(number == 0 || (bytes / number).is_power_of_two());
    }
    if let Ok(trap) = text.parse::<Trap>() {
        assert_eq!(trap.to_string(), text);
    }
    if let Ok(mover) = text.parse::<Mover>() {
        assert_eq!(mover.to_string(), text);
    }
    if let Some(size) = text.parse().ok().and_then(BlockSize::new) {
        assert!(size.bytes().is_power_of_two());
    }
});
