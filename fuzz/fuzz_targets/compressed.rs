//! Arbitrary bytes as a compressed file: an error or a content, the same on pointers and on blocks; never a hang, a crash,
//! or more than the streams' own memory.
#![no_main]

use std::io::{BufRead, Cursor};

use eagre::compressed::{Format, decompress};
use libfuzzer_sys::fuzz_target;

/// Enough to see that both ways agree; what comes after it can be endless.
const MOST: usize = 32 << 20;

fn unpack(format: Format, packed: &[u8], length: Option<u64>) -> Option<Vec<u8>> {
    let mut reader = decompress(format, "fuzz", length, Cursor::new(packed.to_vec())).expect("streams open");
    let mut content = Vec::new();
    while content.len() < MOST {
        let piece = reader.fill_buf().ok()?;
        if piece.is_empty() {
            break;
        }
        let length = piece.len();
        content.extend_from_slice(piece);
        reader.consume(length);
    }
    assert!(reader.control().stats().most <= 6);
    content.truncate(MOST);
    Some(content)
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, packed)) = data.split_first() else { return };
    let format = [Format::Gzip, Format::Zstd, Format::Lz4][usize::from(choice % 3)];
    let on_blocks = unpack(format, packed, None);
    let on_pointers = unpack(format, packed, Some(packed.len() as u64));
    assert_eq!(on_blocks.as_ref().map(Vec::len), on_pointers.as_ref().map(Vec::len));
    assert!(on_blocks == on_pointers);
});
