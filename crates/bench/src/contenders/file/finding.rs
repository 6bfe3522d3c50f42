//! Finding the pattern: memchr's substring search on a mapping.

use std::path::Path;

use memchr::memmem;

use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::contenders::file::reading::map;
use crate::corpus::PATTERN;

pub(super) fn mapped(path: &Path) -> Result<Answer, Trouble> {
    let map = map(path)?;
    Ok(Answer::Places(memmem::find_iter(&map, PATTERN).map(|place| place as u64).collect()))
}
