//! The stream between a file and its user.
//!
//! Pointers take addresses, twice as many as the file has bytes. Who does without them ([`PipeBuilder::explicit`]) needs none;
//! and who has not said so gets a stream for explicit calls where addresses are too short for pointers: reading a file must
//! not depend on `ulimit -v`.

use crate::{BlockSize, OpenError, Pipe, PipeBuilder};

/// Blocks for where there is no memory for several of 2 MiB: slower, but an eighth of it.
pub(crate) const SMALL_BLOCK: BlockSize = match BlockSize::new(256 << 10) {
    Some(size) => size,
    None => BlockSize::MIN,
};

/// Opens the stream of a file. `given`: as the caller wants it; else one with blocks of `block`. `explicit`: nobody will ask for
/// a pointer. `more` sets what holds for all of them.
///
/// # Errors
/// As [`PipeBuilder::open`].
pub(super) fn open(
    given: Option<PipeBuilder>,
    block: BlockSize,
    explicit: bool,
    more: impl Fn(PipeBuilder) -> PipeBuilder,
) -> Result<Pipe, OpenError> {
    let with_blocks = |block| more(Pipe::builder().block_size(block));
    let small = given.is_none().then(|| with_blocks(block.min(SMALL_BLOCK)).explicit());
    let stream = given.map_or_else(|| with_blocks(block), &more);
    let without = stream.clone().explicit();
    let opened = if explicit { without.clone().open() } else { stream.open() };
    opened.or_else(|error| match error {
        // Where pointers are demanded, the others fail as well, and the first error is the reason.
        OpenError::Resources(_) => {
            let ways = [Some(without).filter(|_| !explicit), small];
            ways.into_iter().flatten().find_map(|stream| stream.open().ok()).ok_or(error)
        }
        error => Err(error),
    })
}
