//! Statistics: keys in the small table, in the shared one, long ones, values for quantiles, records over several lines.

use eagre::stats::{Aggregator, StatsError, Table};
use std::fs::File;
use std::io::{ErrorKind, Write};

use crate::refusing::each_allocation;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("stats::short_keys", short_keys),
    ("stats::long_keys", long_keys),
    ("stats::details", details),
    ("stats::records", records),
];

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// Collects from a text, twice, with each allocation refused; `right` looks at what comes of it.
fn collect(what: &str, text: &str, new: impl Fn() -> Aggregator<'static>, right: impl Fn(&Table)) {
    let file = file(text);
    each_allocation(what, |attempt| {
        let (first, second) = (File::open(file.path()).unwrap(), File::open(file.path()).unwrap());
        let answer = attempt.call(|| {
            let mut aggregator = new();
            aggregator.input(first.into())?;
            aggregator.input(second.into())?;
            let mut table = aggregator.finish()?;
            table.sort_by_count()?;
            Ok::<_, StatsError>(table)
        });
        match answer {
            Ok(table) => right(&table),
            Err(StatsError::Memory { .. }) => assert!(attempt.refused()),
            Err(StatsError::Io(error)) => {
                assert!(attempt.refused() && error.kind() == ErrorKind::OutOfMemory, "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    });
}

fn short_keys() {
    let text: String = (0..4000).map(|row| format!("key{};{}.5\n", row % 2000, row % 10)).collect();
    collect(
        "stats: short keys",
        &text,
        || Aggregator::new().threads(1),
        |table| {
            assert_eq!(table.len(), 2000);
            assert!(table.iter().all(|group| group.count == 4));
        },
    );
}

/// Enough text for two threads.
fn long_keys() {
    let text: String = (0..9000).map(|row| format!("{}{};{}\n", "long ".repeat(100), row % 3000, row % 7)).collect();
    for number in [1, 2] {
        collect(
            &format!("stats: long keys, {number} threads"),
            &text,
            || Aggregator::new().threads(number),
            |table| {
                assert_eq!(table.len(), 3000);
                assert!(table.iter().all(|group| group.count == 6));
            },
        );
    }
}

fn details() {
    let text: String = (0..3000).map(|row| format!("key{};{}.{row}\n", row % 100, row % 10)).collect();
    let text = text + "key1;123456789012345678.5\n";
    collect(
        "stats: details",
        &text,
        || Aggregator::new().threads(1).quantiles(true),
        |table| {
            let most = table.get(0).unwrap();
            assert_eq!((table.len(), most.key, most.count), (100, &b"key1"[..], 62));
            assert_eq!(most.quantile("1".parse().unwrap(), 1).unwrap().to_text(1), "123456789012345678.5");
        },
    );
}

fn records() {
    let text: String = (0..1000).map(|row| format!("\"key\n{}\";{row}\n", row % 10)).collect();
    collect(
        "stats: records",
        &text,
        || Aggregator::new().csv(true).threads(1),
        |table| {
            assert_eq!((table.len(), table.get(0).unwrap().count), (10, 200));
        },
    );
}
