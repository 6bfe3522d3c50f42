//! Eagre itself: each job as a user of the library would write it.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;

use eagre::copy::Copier;
use eagre::count::Counter;
use eagre::find::Finder;
use eagre::stats::Aggregator;

use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::contenders::stream;
use crate::corpus::keys::Figures;
use crate::corpus::{PATTERN, Places};

/// A failed call, by its name.
fn failed<E: Display>(what: &str) -> impl Fn(E) -> Trouble {
    move |e| Trouble::failed(what, e)
}

pub(super) fn sum(from: &Path) -> Result<Answer, Trouble> {
    let mut reader = eagre::file::open(from).map_err(failed("open"))?;
    stream::read_calls(&mut reader).map(Answer::Sum)
}

pub(super) fn sum_pointer(from: &Path, size: u64) -> Result<Answer, Trouble> {
    let mut reader = eagre::file::open(from).map_err(failed("open"))?;
    stream::read_pointer(&mut reader, size).map(Answer::Sum)
}

pub(super) fn write(to: &Path, size: u64) -> Result<Answer, Trouble> {
    let mut writer = eagre::file::create(to).map_err(failed("create"))?;
    stream::write_calls(&mut writer, size)?;
    writer.finish().map_err(failed("finish"))?;
    Ok(Answer::File)
}

pub(super) fn write_pointer(to: &Path, size: u64) -> Result<Answer, Trouble> {
    let mut writer = eagre::file::create(to).map_err(failed("create"))?;
    stream::fill_pointer(&mut writer, size)?;
    writer.finish_at(size).map_err(failed("finish"))?;
    Ok(Answer::File)
}

pub(super) fn count(from: &Path, number: usize) -> Result<Answer, Trouble> {
    let counted = Counter::new().threads(number).file(from).map_err(failed("count"))?;
    Ok(Answer::Lines(counted.counts.lines.unwrap_or(0)))
}

pub(super) fn find(from: &Path, number: usize) -> Result<Answer, Trouble> {
    let mut finder = Finder::new(PATTERN).map_err(failed("pattern"))?.threads(number);
    let mut places = Places::default();
    let found = finder.each_in_file(from, |found| {
        places.push(found.start);
        ControlFlow::Continue(())
    });
    found.map_err(failed("find"))?;
    Ok(Answer::Places(places))
}

pub(super) fn stats(from: &Path, number: usize) -> Result<Answer, Trouble> {
    let mut aggregator = Aggregator::new().threads(number);
    aggregator.file(from).map_err(failed("stats"))?;
    let table = aggregator.finish().map_err(failed("stats"))?;
    let number = |decimal: eagre::stats::Decimal| decimal.to_string().parse().unwrap_or(f64::NAN);
    let rows = table.iter().map(|group| {
        let name = String::from_utf8_lossy(group.key).into_owned();
        (name, number(group.min), number(group.mean(table.decimals())), number(group.max))
    });
    Ok(Answer::Stations(rows.collect()))
}

pub(super) fn keys(from: &Path, number: usize) -> Result<Answer, Trouble> {
    let mut aggregator = Aggregator::new().threads(number);
    aggregator.file(from).map_err(failed("stats"))?;
    let table = aggregator.finish().map_err(failed("stats"))?;
    // The table is the answer; whoever asks for figures of all keys has to look at each once, as others do.
    let mut text = Vec::new();
    let mut tenths = |value: eagre::stats::Decimal| {
        text.clear();
        value.write(1, &mut text);
        text.iter().filter(|byte| byte.is_ascii_digit()).fold(0, |n, byte| n * 10 + i64::from(byte - b'0'))
            * if text.first() == Some(&b'-') { -1 } else { 1 }
    };
    let add = |sum: Figures, group: eagre::stats::Group<'_>| Figures {
        keys: sum.keys + 1,
        rows: sum.rows + group.count,
        min: sum.min + tenths(group.min),
        max: sum.max + tenths(group.max),
    };
    Ok(Answer::Keys(table.iter().fold(Figures { keys: 0, rows: 0, min: 0, max: 0 }, add)))
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<Answer, Trouble> {
    Copier::new().file(from, to).map_err(failed("copy"))?;
    Ok(Answer::File)
}
