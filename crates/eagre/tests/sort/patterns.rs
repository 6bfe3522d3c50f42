//! What keys look like, as numbers of 64 bits.

use fastrand::Rng;

/// A generator with a fixed seed. A test that fails shows what it prints.
pub(crate) fn seeded(seed: u64) -> Rng {
    eprintln!("seed {seed}");
    Rng::with_seed(seed)
}

/// Number `i` of `n`.
pub(crate) type Pattern = fn(&mut Rng, u64, u64) -> u64;

/// Numbers that lie far apart, whichever bits a key takes of them.
fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Floating-point numbers that are special in some way, and their like among integers.
const SPECIAL: [u64; 16] = [
    0,                     // 0.0
    1 << 63,               // -0.0
    0x7ff0_0000_0000_0000, // infinity
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000, // NaN
    0xfff8_0000_0000_0000,
    0x7ff0_0000_0000_0001, // signalling NaN
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
    1, // the smallest above 0
    0x8000_0000_0000_0001,
    0x3ff0_0000_0000_0000, // 1.0
    0xbff0_0000_0000_0000,
    0x7f80_0000_ff80_0000, // infinities of 32 bits
    0x7fc0_0000_ffc0_0000,
    0x8000_0000_8000_0000,
];

pub(crate) const PATTERNS: &[(&str, Pattern)] = &[
    ("uniform", |random, _, _| random.u64(..)),
    ("zipf", |random, _, _| (2f64).powf(random.f64() * 24.0) as u64),
    ("zipf above", |random, _, _| scattered((2f64).powf(random.f64() * 10.0) as u64)),
    ("exponential", |random, _, _| {
        let width = random.u64(0..64);
        random.u64(..) >> width
    }),
    ("normal", |random, _, _| (0..8).fold(0, |sum, _| sum + (random.u64(..) >> 3))),
    ("two values", |random, _, _| random.u64(0..2) << 63),
    ("few values", |random, _, _| scattered(random.u64(0..50))),
    ("each twice", |random, _, n| scattered(random.u64(0..(n / 2).max(1)))),
    ("all the same", |_, _, _| 0x0123_4567_89ab_cdef),
    ("zeros", |_, _, _| 0),
    ("largest", |_, _, _| u64::MAX),
    ("almost all zeros", |random, _, _| if random.u64(0..100) == 0 { random.u64(..) } else { 0 }),
    ("almost all largest", |random, _, _| if random.u64(0..100) == 0 { random.u64(..) } else { u64::MAX }),
    ("ascending", |_, i, _| i << 20 | i << 40),
    ("descending", |_, i, n| (n - i) << 13 | (n - i) << 40),
    (
        "nearly ascending",
        |random, i, _| if random.u64(0..1000) == 0 { random.u64(..) >> 20 } else { i << 20 | i << 40 },
    ),
    ("descending but the last", |_, i, n| if i + 1 == n { u64::MAX } else { (n - i) << 40 }),
    ("organ pipe", |_, i, n| i.min(n - i) << 33),
    ("sawtooth", |_, i, _| (i % 1000) << 30),
    ("shared prefix", |random, _, _| 0x4142_4344_0000_0000 | random.u64(..) >> 40),
    ("one byte in the middle", |random, _, _| random.u64(..) & 0xff_0000_0000),
    ("clumps", |random, _, _| (random.u64(0..8) << 61) + random.u64(0..1 << 12)),
    ("a clump and the rest", |random, i, _| if i % 2 == 0 { 5 << 61 | random.u64(0..1 << 20) } else { random.u64(..) }),
    ("each prefix twice", |random, _, _| {
        let bit = random.u64(0..64);
        (1 << bit) | random.u64(0..2)
    }),
    // One bucket of the last step overflows, but the step does not give up.
    (
        "a full bucket",
        |random, i, n| if i < 65 { (i * 7 % 9) << 32 } else { scattered(i * 64 / n.max(1)) | random.u64(..) >> 8 },
    ),
    ("special", |random, _, _| SPECIAL[random.u64(0..16) as usize]),
    (
        "special and others",
        |random, _, _| {
            if random.u64(0..3) == 0 { SPECIAL[random.u64(0..16) as usize] } else { random.u64(..) }
        },
    ),
    // The median of the first, the middle and the last is always the second smallest.
    ("median killer", |_, i, n| {
        let half = n / 2;
        let place = if i >= half {
            2 * (i - half) + 1
        } else if i % 2 == 0 {
            i
        } else {
            half + i
        };
        (place + 1) << 34
    }),
    // Where pivots are looked for keys are small, again and again.
    ("bad samples", |random, i, n| {
        let sampled =
            [0, n / 2, n - 1].iter().any(|&at| i.abs_diff(at) <= 16) || (i % (n / 8).max(1)).abs_diff(n / 16) <= 8;
        if sampled { i << 8 } else { random.u64(..) | 1 << 63 }
    }),
];
