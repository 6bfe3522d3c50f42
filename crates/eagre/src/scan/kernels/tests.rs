//! Every loop with all instructions of this processor, compared with loops over single bytes.

use super::{Columns, Kernels, Simd, Words};
use fastrand::Rng;

fn naive_words(mut words: Words, bytes: &[u8]) -> Words {
    for &byte in bytes {
        match byte {
            b' ' | 9..=13 => words.inside = false,
            33..=126 => {
                words.begun += u64::from(!words.inside);
                words.inside = true;
            }
            _ => {}
        }
    }
    words
}

fn naive_columns(mut columns: Columns, bytes: &[u8]) -> Columns {
    for &byte in bytes {
        match byte {
            b'\n' | b'\r' | 12 => {
                columns.longest = columns.longest.max(columns.column);
                columns.column = 0;
            }
            b'\t' => columns.column += 8 - columns.column % 8,
            32..=126 => columns.column += 1,
            _ => {}
        }
    }
    columns
}

fn all() -> impl Iterator<Item = Kernels> {
    Simd::ALL.into_iter().filter_map(Kernels::with)
}

/// Compares all loops on one text, from several starting states.
fn compare(bytes: &[u8]) {
    for kernels in all() {
        let simd = kernels.simd();
        for byte in [b'\n', 0, b'x', 0xff] {
            let naive = bytes.iter().filter(|&&other| other == byte).count() as u64;
            assert_eq!(kernels.count(byte, bytes), naive, "{simd}: {byte} in {bytes:?}");
        }
        for inside in [false, true] {
            let before = Words { begun: 3, inside };
            let mut words = before;
            kernels.words(&mut words, bytes);
            assert_eq!(words, naive_words(before, bytes), "{simd}: from {before:?} in {bytes:?}");
        }
        for column in [0, 5, 1000] {
            let before = Columns { longest: 17, column };
            let mut columns = before;
            kernels.columns(&mut columns, bytes);
            assert_eq!(columns, naive_columns(before, bytes), "{simd}: from {before:?} in {bytes:?}");
        }
    }
}

/// Numbers that only look random, the same for the same seed. A test that fails shows its seeds.
fn seeded(seed: u64) -> Rng {
    eprintln!("seed: {seed}");
    Rng::with_seed(seed)
}

/// Bytes of a few kinds each, so that short and long runs of every class cross block boundaries everywhere.
fn text(random: &mut Rng, length: usize) -> Vec<u8> {
    let kinds: [&[u8]; 6] =
        [b"ab \n", b"a\0\x01\x7f\x80\xff ", b"\t\na", b"\0\0\0\0\0\0\0\0\0a ", b"\r\x0c\x0b\n\t x", b"x"];
    match random.usize(..7) {
        6 => (0..length).map(|_| random.u8(..)).collect(),
        kind => (0..length).map(|_| kinds[kind][random.usize(..kinds[kind].len())]).collect(),
    }
}

#[test]
fn loops_agree_at_all_alignments_and_around_block_borders() {
    let mut random = seeded(0x5eed);
    let lengths: Vec<usize> = (0..=130).chain([191, 192, 193, 255, 256, 257, 511, 512, 513]).collect();
    for alignment in 0..64 {
        for &length in &lengths {
            let bytes = text(&mut random, alignment + length);
            compare(&bytes[alignment..]);
        }
    }
}

#[test]
fn counters_do_not_overflow() {
    for length in [255 * 64 - 1, 255 * 64, 256 * 64, 256 * 64 + 1, 600 * 64 + 63] {
        let bytes = vec![b'x'; length];
        for kernels in all() {
            assert_eq!(kernels.count(b'x', &bytes), length as u64, "{}", kernels.simd());
        }
    }
}

#[test]
fn every_byte_alone_and_between_others() {
    for byte in 0..=255 {
        for bytes in
            [&[byte][..], &[b'a', byte], &[byte, b'a'], &[b'a', byte, b'b'], &[b' ', byte, b' '], &[b'\t', byte, b'\t']]
        {
            compare(bytes);
        }
    }
}

#[test]
fn instructions_have_names() {
    for simd in Simd::ALL {
        assert_eq!(simd.to_string().parse(), Ok(simd));
    }
    assert!(Simd::Portable.is_available());
    assert!(Kernels::best().simd().is_available());
}
