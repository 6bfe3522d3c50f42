//! The stream between a file and its reader or writer.
//!
//! A stream for pointers reserves twice as many addresses as the file has bytes. A stream for explicit calls
//! ([`PipeBuilder::explicit`]) reserves none. It is also the fallback where the address space is too small for
//! pointers: reading a file must not depend on `ulimit -v`.

use crate::{BlockSize, OpenError, Pipe, PipeBuilder};

/// The block size where memory does not suffice for several blocks of 2 MiB. It is slower, but needs an eighth of the
/// memory.
pub(crate) const SMALL_BLOCK: BlockSize = match BlockSize::new(256 << 10) {
    Some(size) => size,
    None => BlockSize::MIN,
};

/// Opens the stream of a file. `given` is the caller's choice; without it, blocks have the size `block`. `explicit`: no
/// pointer will be used. `more` makes the settings that all choices share.
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
        // If the caller demands pointers, the other ways fail too, and the first error is the reason.
        OpenError::Resources(_) => {
            let ways = [Some(without).filter(|_| !explicit), small];
            ways.into_iter().flatten().find_map(|stream| stream.open().ok()).ok_or(error)
        }
        error => Err(error),
    })
}
