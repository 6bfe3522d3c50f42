use std::cmp::Ordering;

use super::*;

fn text(options: &str, keys: &[&str]) -> Text {
    let order = TextOrder::new().options(options.parse().unwrap()).stable(true);
    keys.iter().fold(order, |order, key| order.key(key.parse().unwrap())).build().unwrap()
}

fn key(text: &Text, record: &[u8]) -> Vec<u8> {
    text.key(record, &mut Vec::new()).to_vec()
}

/// That lines are in this order; those beside each other in a group are equal.
#[track_caller]
fn ascending(options: &str, groups: &[&[&str]]) {
    let text = text(options, &[]);
    let lines: Vec<_> =
        groups.iter().enumerate().flat_map(|(at, group)| group.iter().map(move |line| (at, line))).collect();
    for (a, left) in &lines {
        for (b, right) in &lines {
            let (left_key, right_key) = (key(&text, left.as_bytes()), key(&text, right.as_bytes()));
            assert_eq!(
                left_key.cmp(&right_key),
                a.cmp(b),
                "{options}: {left:?} {left_key:x?} {right:?} {right_key:x?}"
            );
            // No code is the beginning of another.
            assert!(a == b || text.borrowed(b"").is_some() || !right_key.starts_with(&left_key), "{left:?} {right:?}");
        }
    }
}

#[test]
fn options_order_as_in_gnu_sort() {
    ascending("", &[&[""], &["\0"], &["\u{1}"], &["1"], &["10"], &["9"], &["a"], &["a\0"], &["aa"], &["é"]]);
    ascending(
        "b",
        &[&["", " "], &["\0", "  \0"], &["\0\0"], &["\u{1}"], &["\u{1}\u{1}"], &["a", "\ta"], &["a "], &["b"]],
    );
    ascending("f", &[&["a", "A"], &["aB", "AB"], &["["], &["é"]]);
    ascending("d", &[&["", "-", "é"], &[" a", "- a"], &["a", "(a)"], &["a b", "a. b"], &["ab", "a.b"]]);
    ascending("i", &[&["", "\u{7f}", "é"], &["a", "\ta\r"], &["b"]]);
    ascending("fd", &[&["ab", "A.B"], &["AC"]]);
    ascending("M", &[&["", "ja", "x"], &["JAN", " january", "jan5"], &["Feb"], &["dec"]]);
    ascending(
        "n",
        &[
            &["-100"],
            &["-99.99"],
            &["-9.1"],
            &["-9", "-9.0"],
            &["-0.5", "-.5"],
            &["-.05"],
            &["0", "", "-0", "x", "+5", "--5", ".", "-", "- 1", "0e5"],
            &[".05"],
            &[".5", "0.5", ".50"],
            &["1", " 1", "01", "1e3", "1.", "1.x"],
            &["1.01"],
            &["1.5"],
            &["9"],
            &["10"],
            &["12.34"],
            &["12.345"],
            &["100"],
            &["123.4"],
            &["99999999999999999999999999999999999999"],
            &["100000000000000000000000000000000000000"],
        ],
    );
    ascending(
        "h",
        &[
            &["-1M"],
            &["-2K"],
            &["-1K", "-1k"],
            &["-2000"],
            &["0", "", "0K", "-0G", "K"],
            &["1", "1m"],
            &["1.5"],
            &["2000"],
            &["1K", "1k", "1.K", "1Ki"],
            &["1.5K"],
            &["1M"],
            &["1G"],
            &["1T"],
            &["1P"],
            &["1E"],
            &["1Z"],
            &["1Y"],
            &["1R"],
            &["1Q"],
        ],
    );
    ascending(
        "g",
        &[
            &["", "x", "+", ".", "e5", "- 1"],
            &["-nan"],
            &["nan", "NaN(5)"],
            &["-inf", "-1e5000", "-Infinity"],
            &["-1e300"],
            &["-1"],
            &["-1e-4940"],
            &["0", "-0", "0x", "0xg", "1e-5000", "0e99999999999999999999"],
            &["1e-4950"],
            &["1e-4940"],
            &["0.9999999999999999999"],
            &["1", "+1", "0x1", "1e", "1e+", "100e-2", "0x.8p1", "1.000000000000000000000001"],
            &["31", "0x1F", "0x1fp0", "3.1e1x"],
            &["18446744073709551615"],
            &["18446744073709551616", "0x1p64", "18446744073709551616.5"],
            &["1e4932"],
            &["inf", "1e99999999999999999999", "0x1p99999"],
        ],
    );
    ascending(
        "V",
        &[
            &[""],
            &["."],
            &[".."],
            &[".a"],
            &[".b"],
            &["a~"],
            &["a", "a0"],
            &["a0.b1.c"],
            &["a.b1.c"],
            &["a.b2"],
            &["a1"],
            &["a2"],
            &["a2.tar.gz"],
            &["a10", "a010"],
            &["a10.1"],
            &["ab"],
            &["a-b"],
            &["b"],
        ],
    );
}

#[test]
fn reversed_keys_are_complements() {
    let two = text("", &["1,1r", "2n"]);
    assert!(!two.descending());
    assert!(key(&two, b"b 1") < key(&two, b"a 1"));
    assert!(key(&two, b"aa 1") < key(&two, b"a 1"));
    assert!(key(&two, b"a 1") < key(&two, b"a 2"));
    // The whole is turned by who sorts.
    let turned = text("r", &["1,1r", "2,2n", "3,3"]);
    assert!(turned.descending());
    assert!(key(&turned, b"a 1 a") < key(&turned, b"b 1 a"));
    assert!(key(&turned, b"a 2 a") < key(&turned, b"a 1 a"));
    assert!(key(&turned, b"a 1 a") < key(&turned, b"a 1 b"));
}

#[test]
fn lines_are_borrowed_if_they_can_be() {
    let mut scratch = Vec::new();
    let lines = TextOrder::new().build().unwrap();
    assert_eq!((lines.key(b"ab\n", &mut scratch), lines.terminator()), (&b"ab"[..], Some(b'\n')));
    let field = TextOrder::new().separator(b',').key("2,2".parse().unwrap()).unique(true).build().unwrap();
    assert_eq!(field.key(b"a,\0b,c\n", &mut scratch), b"\0b");
    assert_eq!(scratch.capacity(), 0);
    let last_resort = TextOrder::new().separator(b',').key("2,2".parse().unwrap()).build().unwrap();
    assert_eq!(last_resort.key_parts(b"a,\0b,c\n", &mut scratch), (&b"\x01\x01b\0"[..], &b"a,\0b,c"[..]));
    assert_eq!(last_resort.key(b"a,\0b,c\n", &mut scratch), b"\x01\x01b\0a,\0b,c");
}

#[test]
fn quoted_fields_are_text() {
    let order = TextOrder::new().csv(true).stable(true);
    let field = |key: &str, record: &str| {
        let text = order.clone().key(key.parse().unwrap()).build().unwrap();
        assert_eq!(text.length(record.as_bytes(), true), Ok(Some(record.len())), "{record:?}");
        let code = self::key(&text, record.as_bytes());
        String::from_utf8(code.strip_suffix(b"\0").unwrap().to_vec()).unwrap()
    };
    assert_eq!(field("2,2", "a,\"b,\n\"\"c\"\"\",d\n"), "b,\n\"c\"");
    assert_eq!(field("2,2", "\"a\",b\r\n"), "b");
    assert_eq!(field("2,2", "a,\"b\"\r\n"), "b");
    assert_eq!(field("2,2", "a,\"b\"x\"y\",d"), "bx\"y\"");
    assert_eq!(field("2,2", "a,5\" nails,d\n"), "5\" nails");
    assert_eq!(field("3,3", "a,\"b\"\n"), "");
    assert_eq!(field("2.2,2.3", "a,\"bcde\",f\n"), "cd");
    assert_eq!(field("1,2", "\"a\",\"b\",c\n"), "a,b");
    assert_eq!(field("2", "\"a\",\"b\",c"), "b,c");
    assert_eq!(field("2,1", "\"a\",\"b\",c"), "");
    assert_eq!(field("2b,2", "\"a\",\"  b\",c"), "b");
    // As without quotes.
    for key in ["1", "2.2", "1.3,2.1", "2,2.9", "2,1.5", "3.1,3.1", "4", "1.2,1", "2b,3.1b"] {
        assert_eq!(field(key, "ab, cd,ef\n"), field(key, "\"ab\",\" cd\",\"ef\"\n"), "{key}");
    }

    let text = order.build().unwrap();
    assert_eq!(text.length(b"a,\"b\n", false), Ok(None));
    assert_eq!(text.length(b"a,\"b\"\nc\n", false), Ok(Some(6)));
    assert_eq!(text.length(b"a,b", false), Ok(None));
    assert_eq!(text.length(b"a,\"b\n", true), Err(Malformed::Unclosed { bytes: 5 }));
    assert!(!text.ends_at_terminator());
}

#[test]
fn what_is_no_key_is_said() {
    for (wrong, why) in [
        ("", "begins with the number"),
        ("n", "begins with the number"),
        (",1", "begins with the number"),
        ("0", "from 1"),
        ("1.0", "from 1"),
        ("1,0", "from 1"),
        ("1.", "a dot"),
        ("1,", "a comma"),
        ("1,1,1", "','"),
        ("1x", "'x'"),
        ("1n5", "'5'"),
        ("1\n", "'\\n'"),
        ("1R", "random"),
        ("-1", "begins with the number"),
    ] {
        let error = wrong.parse::<TextKey>().expect_err(wrong);
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
    let all: TextKey = "1.2bn,3.0br".parse().unwrap();
    assert_eq!(TextOrder::new().key(all).build().unwrap().keys.len(), 1);
    "99999999999999999999.99999999999999999999,99999999999999999999".parse::<TextKey>().unwrap();

    for (options, error) in [("hn", "'-hn'"), ("in", "'-in'"), ("dgb", "'-dg'"), ("VMr", "'-MV'")] {
        let options: TextOptions = options.parse().unwrap();
        let wrong = TextOrder::new().options(options).build().unwrap_err();
        assert_eq!(wrong, format!("options {error} are incompatible"));
        // Options of keys that inherit none do not count.
        TextOrder::new().options(options).key("1b".parse().unwrap()).build().unwrap();
        TextOrder::new().options(options).key("1r".parse().unwrap()).key("2".parse().unwrap()).build().unwrap_err();
    }
    "di".parse::<TextOptions>().unwrap().check().unwrap();
    "Vdf".parse::<TextOptions>().unwrap().check().unwrap();
    TextOrder::new().csv(true).separator(b'"').build().unwrap_err();
}

#[test]
fn lengths_of_all_sizes_are_in_order() {
    for base in [0, 0x81] {
        let lengths = [0, 1, 100, 119, 120, 248, 249, 255, 256, 65535, 65536, 1 << 24, 1 << 40, (1 << 56) - 1];
        let codes = lengths.map(|length| {
            let mut code = Vec::new();
            codes::length(base, length, &mut code);
            code
        });
        assert!(codes.is_sorted_by(|a, b| a.cmp(b) == Ordering::Less && !b.starts_with(a)), "{codes:x?}");
    }
}
