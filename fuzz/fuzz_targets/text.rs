//! Keys and options as people type them, and two records: errors of one line, keys that order as numbers do, and that turn
//! around if they are reversed.
#![no_main]

use std::cmp::Ordering;

use eagre::records::{Format, Text, TextOrder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, Vec<&str>, [u8; 3], i64, &[u8])| {
    let (options, keys, [flags, separator, terminator], number, bytes) = input;
    let flag = |bit: u8| flags >> bit & 1 == 1;
    let mut order = TextOrder::new().stable(flag(0)).unique(flag(1)).csv(flag(2));
    if flag(3) {
        order = order.separator(separator);
    }
    if flag(4) {
        order = order.terminator(terminator);
    }
    order = parsed(options, order, TextOrder::options);
    for key in keys {
        order = parsed(key, order, TextOrder::key);
    }
    match order.build() {
        Ok(text) => records(&text, bytes, flag(0) || flag(1)),
        Err(error) => assert!(!error.contains('\n'), "{error}"),
    }
    one_key(bytes, number);
});

/// The order with one thing more, if it can be read.
fn parsed<T: std::str::FromStr<Err = String>>(
    text: &str,
    order: TextOrder,
    add: fn(TextOrder, T) -> TextOrder,
) -> TextOrder {
    match text.parse() {
        Ok(more) => add(order, more),
        Err(error) => {
            assert!(!error.contains('\n'), "{error}");
            order
        }
    }
}

/// All records of `bytes`: none is empty, and only equal lines have equal keys, unless lines do not count.
fn records(text: &Text, bytes: &[u8], keys_only: bool) {
    let (mut rest, mut scratch) = (bytes, Vec::new());
    let mut before: Option<(Vec<u8>, &[u8])> = None;
    while !rest.is_empty() {
        let Ok(length) = text.length(rest, true) else { return };
        let (record, more) = rest.split_at(length.expect("nothing follows"));
        assert!(!record.is_empty());
        if !more.is_empty() {
            assert_eq!(text.length(rest, false), Ok(Some(record.len())));
        }
        let key = text.key(record, &mut scratch).to_vec();
        let (front, back) = text.key_parts(record, &mut scratch);
        assert_eq!([front, back].concat(), key);
        let line = record.strip_suffix(&[text.terminator().expect("lines have one")]).unwrap_or(record);
        if let Some((other_key, other)) = &before {
            assert!(*other != line || *other_key == key);
            assert!(keys_only || *other_key != key || *other == line);
        }
        before = Some((key, line));
        rest = more;
    }
}

/// Keys of one option: no code is the beginning of another, and numbers are in order.
fn one_key(bytes: &[u8], number: i64) {
    let (left, right) = bytes.split_at(bytes.len() / 2);
    let (one, other) = (number.to_string(), (number / 3).to_string());
    for letter in ["n", "g", "h", "V", "M", "f", "d", "i"] {
        let order = |options: String| {
            let key = options.parse().expect("options");
            TextOrder::new().terminator(0).stable(true).options(key).build().expect("one order")
        };
        let key = |text: &Text, line: &[u8]| text.key(line, &mut Vec::new()).to_vec();
        let text = order(letter.to_owned());
        let (a, b) = (key(&text, left), key(&text, right));
        assert!(a == b || !a.starts_with(&b) && !b.starts_with(&a), "{letter}: {a:x?} {b:x?}");
        if matches!(letter, "n" | "g" | "h") {
            let actual = key(&text, one.as_bytes()).cmp(&key(&text, other.as_bytes()));
            assert_eq!(actual, number.cmp(&(number / 3)), "{letter}: {number}");
        }
        // The same key, reversed in an order that is not.
        let turned = TextOrder::new().terminator(0).stable(true).key(format!("1{letter}r").parse().expect("a key"));
        let turned = turned.build().expect("one order");
        assert_eq!(key(&turned, left).cmp(&key(&turned, right)), Ordering::reverse(a.cmp(&b)), "{letter}");
    }
}
