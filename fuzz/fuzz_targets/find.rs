//! Patterns, a text and cuts at random: what is found is what the definition says.
#![no_main]

use std::ops::ControlFlow;

use eagre::find::{Finder, Join};
use eagre::scan::{Scan, Simd};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<Vec<u8>>, bool, bool, Vec<u8>, Vec<u8>)| {
    let (mut patterns, any_case, portable, text, cuts) = input;
    patterns.retain(|pattern| !pattern.is_empty());
    let builder = patterns.iter().fold(Finder::builder(), |builder, pattern| builder.pattern(pattern));
    let mut finder = builder.case_insensitive(any_case).build().expect("no pattern is empty");
    if portable {
        finder = finder.simd(Simd::Portable);
    }

    let is_there = |pattern: &[u8], at: usize| {
        let there = &text[at..text.len().min(at + pattern.len())];
        if any_case { there.eq_ignore_ascii_case(pattern) } else { there == pattern }
    };
    let mut expected = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match patterns.iter().filter(|pattern| is_there(pattern, at)).map(Vec::len).max() {
            Some(length) => {
                expected.push((at as u64, text[at..at + length].to_vec()));
                at += length;
            }
            None => at += 1,
        }
    }

    let (listing, counting) = (finder.search(), finder.search().counting());
    let (mut join, mut counted) = (Join::new(&listing), Join::new(&counting));
    let mut got = Vec::new();
    let mut rest = &text[..];
    let mut cuts = cuts.iter().map(|&cut| usize::from(cut) + 1);
    while !rest.is_empty() {
        let offset = (text.len() - rest.len()) as u64;
        let (piece, behind) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
        let _ = join.part(listing.piece(&mut (), offset, piece), |found| {
            got.push((found.start, found.bytes.to_vec()));
            ControlFlow::Continue(())
        });
        let _ = counted.part(counting.piece(&mut (), offset, piece), |_| unreachable!("a count reports nothing"));
        rest = behind;
    }
    let count = join.finish(|found| {
        got.push((found.start, found.bytes.to_vec()));
        ControlFlow::Continue(())
    });
    assert_eq!(got, expected);
    assert_eq!(count, expected.len() as u64);
    assert_eq!(counted.finish(|_| unreachable!("a count reports nothing")), count);
});
