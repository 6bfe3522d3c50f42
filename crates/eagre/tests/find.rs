//! What is found, however the input is cut, against code that is too simple to be wrong.
#![forbid(unsafe_code)]

use std::io::{BufReader, Seek, Write};
use std::ops::ControlFlow;

use eagre::find::{self, Finder, Join, Match, PatternError};
use eagre::scan::{Scan, Simd};

/// An occurrence: where, which pattern, what stands there.
type Hit = (u64, usize, Vec<u8>);

/// The definition: at each place from left to right, the longest pattern, the first of equals; then on behind it.
fn naive(patterns: &[Vec<u8>], any_case: bool, text: &[u8]) -> Vec<Hit> {
    let is_there = |pattern: &[u8], at: usize| {
        let there = &text[at..text.len().min(at + pattern.len())];
        if any_case { there.eq_ignore_ascii_case(pattern) } else { there == pattern }
    };
    let mut hits = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let here = (0..patterns.len()).rev().filter(|&index| is_there(&patterns[index], at));
        match here.max_by_key(|&index| patterns[index].len()) {
            Some(index) => {
                let end = at + patterns[index].len();
                hits.push((at as u64, index, text[at..end].to_vec()));
                at = end;
            }
            None => at += 1,
        }
    }
    hits
}

fn finder(patterns: &[Vec<u8>], any_case: bool, portable: bool) -> Finder<'static> {
    let builder = patterns.iter().fold(Finder::builder(), |builder, pattern| builder.pattern(pattern));
    let finder = builder.case_insensitive(any_case).build().unwrap();
    if portable { finder.simd(Simd::Portable) } else { finder }
}

fn hit(found: Match<'_>) -> Hit {
    assert_eq!(found.end(), found.start + found.bytes.len() as u64);
    (found.start, found.pattern, found.bytes.to_vec())
}

/// Searches `text` cut into pieces of these lengths, again and again.
fn in_pieces(finder: &Finder<'_>, limit: u64, text: &[u8], lengths: &[usize]) -> Vec<Hit> {
    let listing = finder.search().limit(limit);
    let counting = finder.search().limit(limit).counting();
    let (mut join, mut counted) = (Join::new(&listing), Join::new(&counting));
    let mut hits = Vec::new();
    let mut push = |found: Match<'_>| {
        hits.push(hit(found));
        ControlFlow::Continue(())
    };
    let nobody = |_: Match<'_>| panic!("a count reports nothing");
    let (mut rest, mut offset) = (text, 0);
    for &length in lengths.iter().cycle() {
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        if piece.is_empty() {
            break;
        }
        let flows = [
            join.part(listing.piece(&mut (), offset, piece), &mut push),
            counted.part(counting.piece(&mut (), offset, piece), nobody),
        ];
        assert_eq!(flows[0], flows[1]);
        if flows[0].is_break() {
            break;
        }
        offset += piece.len() as u64;
        rest = behind;
    }
    let count = join.finish(&mut push);
    assert_eq!(count, hits.len() as u64);
    assert_eq!(counted.finish(nobody), count);
    hits
}

/// All ways of searching agree with the definition.
fn check(patterns: &[Vec<u8>], any_case: bool, text: &[u8], cuts: &[&[usize]]) {
    let expected = naive(patterns, any_case, text);
    for portable in [false, true] {
        let finder = finder(patterns, any_case, portable);
        let context = || format!("{patterns:?} in {text:?}, any case {any_case}, portable {portable}");
        assert_eq!(finder.iter(text).map(hit).collect::<Vec<_>>(), expected, "{}", context());
        for lengths in cuts {
            assert_eq!(in_pieces(&finder, u64::MAX, text, lengths), expected, "{} cut {lengths:?}", context());
        }
        for limit in [0, 1, expected.len() / 2, expected.len()] {
            let some = in_pieces(&finder, limit as u64, text, cuts[0]);
            assert_eq!(some, expected[..limit.min(expected.len())], "{} limit {limit}", context());
        }
    }
}

/// A generator of numbers (xorshift), the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end as u64) as usize
    }

    fn bytes(&mut self, length: usize, alphabet: &[u8]) -> Vec<u8> {
        (0..length).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

#[test]
fn every_short_pattern_in_every_short_text_at_every_cut() {
    // Two letters are enough for patterns that overlap themselves in every way.
    let words =
        |length: usize| (0..1_usize << length).map(move |bits| (0..length).map(|at| b"ab"[bits >> at & 1]).collect());
    let patterns: Vec<Vec<u8>> = (1..=4).flat_map(words).collect();
    let texts: Vec<Vec<u8>> = (0..=9).flat_map(words).collect();
    for pattern in &patterns {
        let patterns = std::slice::from_ref(pattern);
        for portable in [false, true] {
            let finder = finder(patterns, false, portable);
            for text in &texts {
                let expected = naive(patterns, false, text);
                for cut in 1..=text.len() {
                    assert_eq!(in_pieces(&finder, u64::MAX, text, &[cut, 99]), expected, "{pattern:?} {text:?} {cut}");
                    assert_eq!(in_pieces(&finder, u64::MAX, text, &[cut]), expected, "{pattern:?} {text:?} {cut}");
                }
            }
        }
    }
}

#[test]
fn several_patterns_at_random() {
    let mut random = Random(1);
    for round in 0..800 {
        let alphabet: &[u8] = [&b"ab"[..], b"abc", b"aAbB", b"a\0\n\xff", b"aaaaaaab"][round % 5];
        let patterns: Vec<Vec<u8>> = (0..random.below(5))
            .map(|_| {
                let length = 1 + random.below(9);
                random.bytes(length, alphabet)
            })
            .collect();
        let length = random.below(120);
        let text = random.bytes(length, alphabet);
        let some: Vec<usize> = (0..5).map(|_| 1 + random.below(30)).collect();
        check(&patterns, round % 3 == 0, &text, &[&some, &[1], &[2], &[7, 1], &[33], &[64, 1, 1], &[200]]);
    }
}

#[test]
fn long_patterns_and_long_texts_at_random() {
    let mut random = Random(2);
    for round in 0..40 {
        let alphabet: &[u8] =
            [&b"ab"[..], b"abcdefgh \n", b"eEtTaA", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"][round % 4];
        let length = random.below(5000);
        let text = random.bytes(length, alphabet);
        // Patterns that are there, of all lengths around those of vectors.
        let patterns: Vec<Vec<u8>> = (0..1 + random.below(3))
            .map(|_| {
                let length = 1 + random.below([4, 40, 70, 140, 300][round % 5]);
                let from = random.below(text.len().max(1));
                let there = text[from..text.len().min(from + length)].to_vec();
                if there.is_empty() { b"x".to_vec() } else { there }
            })
            .collect();
        let some: Vec<usize> = (0..5).map(|_| 1 + random.below(900)).collect();
        check(&patterns, round % 2 == 0, &text, &[&some, &[1], &[256], &[257, 3], &[1000]]);
    }
}

#[test]
fn at_every_place_of_a_vector_and_none_beyond_the_end() {
    for length in [1, 2, 3, 63, 64, 65, 128, 129] {
        let pattern: Vec<u8> = (0..length).map(|at| b'a' + (at % 7) as u8).collect();
        for at in 0..300 {
            let mut text = vec![b'.'; at];
            text.extend(&pattern);
            // All but the last byte of one more: only a look beyond the end could find it.
            text.extend(&pattern[..length - 1]);
            check(std::slice::from_ref(&pattern), false, &text, &[&[at + 1], &[100]]);
            check(std::slice::from_ref(&pattern.to_ascii_uppercase()), true, &text, &[&[at + 1]]);
        }
    }
}

#[test]
fn only_letters_have_two_cases() {
    // Bytes that differ in bit 5 only, and are no letters: @ and `, [ and {, NUL and space.
    for (pattern, text, count) in [
        (&b"@a["[..], &b"`A{ @A[ @a["[..], 2),
        (b"\0", b" \0 ", 1),
        (b"\xc4k", b"\xe4k \xc4K", 1),
        (b"straSSe", b"STRASSE strasse Stra\xdfe", 2),
    ] {
        check(&[pattern.to_vec()], true, text, &[&[1], &[5]]);
        assert_eq!(finder(&[pattern.to_vec()], true, false).iter(text).count(), count);
    }
}

#[test]
fn data_that_is_nothing_but_occurrences() {
    let a = vec![b'a'; 300_000];
    let long = [b'a'; 1000];
    for (pattern, any_case) in [(&b"a"[..], false), (b"aa", false), (b"aaaaaaa", false), (b"AAA", true), (&long, false)]
    {
        for lengths in [&[65_536][..], &[9_999], &[100_001, 3]] {
            let found = in_pieces(&finder(&[pattern.to_vec()], any_case, false), u64::MAX, &a, lengths);
            assert_eq!(found.len(), a.len() / pattern.len(), "{}", pattern.len());
            assert!(found.iter().zip(0..).all(|(hit, index)| hit.0 == index * pattern.len() as u64));
        }
    }
}

#[test]
fn candidates_that_are_never_matches() {
    // Both rare bytes often, the pattern nowhere but at the end.
    let mut pattern = vec![b'a'; 200];
    pattern[100] = b'b';
    let mut text: Vec<u8> = (0..400_000).map(|at| if at % 90 == 0 { b'b' } else { b'a' }).collect();
    text.extend(&pattern);
    for any_case in [false, true] {
        let expected = naive(std::slice::from_ref(&pattern), any_case, &text);
        assert_eq!(expected.len(), 1);
        let finder = finder(std::slice::from_ref(&pattern), any_case, false);
        assert_eq!(finder.iter(&text).map(hit).collect::<Vec<_>>(), expected);
        assert_eq!(in_pieces(&finder, u64::MAX, &text, &[65_536]), expected);
    }
}

#[test]
fn matches_among_candidates_that_are_none() {
    // Runs of a letter, a little shorter than the pattern or a little longer: a kernel gives up soon, at one place in
    // one round and at another in the next, and no match there may be lost or found twice.
    let mut random = Random(4);
    for round in 0..80 {
        let pattern = vec![b'a'; 20];
        let mut text = Vec::new();
        while text.len() < 8000 {
            text.resize(text.len() + 16 + random.below(8), b'a');
            text.push(b'b');
        }
        check(&[pattern], round % 2 == 0, &text, &[&[8000 + round], &[3000, 1, 20]]);
    }
}

#[test]
fn files_readers_and_counts() {
    let mut random = Random(3);
    let text = random.bytes(1_500_000, b"to be or not to be\n");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&text).unwrap();
    let patterns = [b"to b".to_vec(), b"be".to_vec(), b"\nor".to_vec(), b"bebe".to_vec()];
    let expected = naive(&patterns, false, &text);
    let finder = finder(&patterns, false, false);

    for threads in [1, 2, 5] {
        let mut finder = finder.clone().threads(threads);
        let mut hits = Vec::new();
        let mut again = file.reopen().unwrap();
        finder
            .each_in_input(again.try_clone().unwrap().into(), |found| {
                hits.push(hit(found));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(hits == expected);
        again.rewind().unwrap();
        assert_eq!(finder.input(again.into()).unwrap(), expected.len() as u64);
    }

    assert_eq!(finder.clone().file(file.path()).unwrap(), expected.len() as u64);
    assert_eq!(finder.read(&text[..]).unwrap(), expected.len() as u64);
    // A break is the last that is heard of a search, however many occurrences are at hand.
    for at in [0, 1, 5, expected.len() - 1] {
        let mut hits = Vec::new();
        let stop = |found: Match<'_>| {
            hits.push(hit(found));
            if hits.len() == at + 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        finder.clone().each_in_file(file.path(), stop).unwrap();
        assert_eq!(hits, expected[..=at]);
    }

    for capacity in [1, 10, 4096] {
        let mut hits = Vec::new();
        let reader = BufReader::with_capacity(capacity, &text[..100_000]);
        finder
            .each_in_read(reader, |found| {
                hits.push(hit(found));
                if hits.len() < 500 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .unwrap();
        assert_eq!(hits, expected[..500]);
    }

    let word = b"not".to_vec();
    let count = naive(std::slice::from_ref(&word), false, &text).len() as u64;
    assert_eq!(find::file(file.path(), "not").unwrap(), count);
    assert_eq!(find::file(file.path(), "").unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    assert!(find::file(file.path().join("missing"), "x").is_err());
}

#[test]
fn patterns_that_cannot_be() {
    assert_eq!(Finder::new("").unwrap_err(), PatternError::Empty { pattern: 0 });
    let error = Finder::several(["a", "", "b"]).unwrap_err();
    assert_eq!(error, PatternError::Empty { pattern: 1 });
    assert_eq!(error.to_string(), "pattern 2 is empty");
    assert_eq!(Finder::several([""; 0]).unwrap().iter(b"abc").count(), 0);
}

#[test]
fn instructions_that_are_not_there_are_refused() {
    for simd in Simd::ALL {
        let finder = Finder::new("be").unwrap().simd(simd);
        let counts =
            [finder.clone().input(tempfile::tempfile().unwrap().into()).map_err(Into::into), finder.read(&b""[..])];
        for count in counts {
            match count {
                Ok(count) => assert!(simd.is_available() && count == 0, "{simd}"),
                Err(error) => {
                    assert!(!simd.is_available() && error.kind() == std::io::ErrorKind::InvalidInput, "{error}");
                }
            }
        }
    }
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no\nfile");
    let error = eagre::find::file(&missing, "x").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let said = format!("find: '{}/no'$'\\n''file': No such file or directory", folder.path().display());
    assert_eq!(error.to_string(), said);
    let error = eagre::find::file(folder.path(), "x").unwrap_err();
    assert_eq!(error.to_string(), format!("find: {}: Is a directory", folder.path().display()));
}
