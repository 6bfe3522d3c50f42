//! Merging buffers of the caller's, which it fills again as they run dry.

use crate::arguments::{self, Place, bytes_mut, exclusive, shared, take};
use crate::boundaries::EagreBytes;
use crate::format::{EagreFormat, Records, with_records};
use crate::status::{EagreStatus, Fault, status};
use eagre::external::kernels::{MOST_SOURCES, Merge, MergeError, Order, Source};
use eagre::heap;
use eagre::records::Format;
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null};

/// Gives a source of a merge more bytes. rest has those that were not merged yet, perhaps none. Put there the address and the
/// number of bytes that begin with these and have more behind them, and return 1; the buffer of before is not used any more.
/// Return 0 if there are no more, or a negative number, best a negated errno, to fail.
pub type EagreRefill =
    Option<unsafe extern "C" fn(context: *mut c_void, source: usize, rest: *mut EagreBytes) -> c_int>;

/// Why a source could not be refilled.
#[derive(Debug)]
enum Unfilled {
    Answer(c_int),
    NoMore,
}

/// A buffer of the caller's.
struct Buffer {
    rest: EagreBytes,
    number: usize,
    refill: EagreRefill,
    context: *mut c_void,
}

impl Source for Buffer {
    type Error = Unfilled;

    fn bytes(&self) -> &[u8] {
        match self.rest.size {
            0 => &[],
            // SAFETY: the caller's promise, checked when it was made.
            size => unsafe { std::slice::from_raw_parts(self.rest.bytes.cast(), size) },
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.rest.bytes = self.rest.bytes.wrapping_byte_add(bytes);
        self.rest.size -= bytes;
    }

    fn refill(&mut self) -> Result<bool, Unfilled> {
        let Some(refill) = self.refill else { return Ok(false) };
        let mut rest = self.rest;
        // SAFETY: the caller's function, with the arguments it was promised.
        match unsafe { refill(self.context, self.number, &mut rest) } {
            0 => {
                self.refill = None;
                Ok(false)
            }
            1 if rest.size > self.rest.size && arguments::check_span(rest.bytes.cast(), rest.size).is_ok() => {
                self.rest = rest;
                Ok(true)
            }
            1 => Err(Unfilled::NoMore),
            answer => Err(Unfilled::Answer(answer)),
        }
    }
}

fn fault(error: MergeError<Unfilled>) -> Fault {
    match error {
        MergeError::Source { number, error: Unfilled::NoMore } => {
            Fault::invalid(format_args!("merge: refill of source {number} returned 1, and gave no more bytes"))
        }
        MergeError::Source { number, error: Unfilled::Answer(answer) } => {
            let why = match answer.unsigned_abs() {
                1..=4095 if answer < 0 => std::io::Error::from_raw_os_error(-answer),
                _ => std::io::Error::other(format!("refill returned {answer}")),
            };
            Fault::new(EagreStatus::EagreWriterFailed, format_args!("merge: source {number}: {why}"))
        }
        MergeError::Malformed(number, why) => {
            Fault::new(EagreStatus::EagreMalformed, format_args!("merge: source {number}: {why}"))
        }
        MergeError::Memory(refused) => refused.into(),
        _ => Fault::new(EagreStatus::EagreSystem, "merge: it failed"),
    }
}

/// A merge of any format.
trait Merging {
    fn record(&self) -> Option<&[u8]>;
    fn advance(&mut self) -> Result<(), MergeError<Unfilled>>;
}

impl<F: Format> Merging for Merge<'_, F, Buffer> {
    fn record(&self) -> Option<&[u8]> {
        Merge::record(self)
    }

    fn advance(&mut self) -> Result<(), MergeError<Unfilled>> {
        Merge::advance(self)
    }
}

/// A merge of sorted records. One thread at a time uses it.
pub struct EagreMerge {
    /// `None` after a failure: what the sources have left is not known then.
    merging: Option<Box<dyn Merging>>,
    /// Whether the record at the front has been given out.
    given: bool,
    /// The format, which `merging` refers to.
    records: NonNull<Records>,
}

impl Drop for EagreMerge {
    fn drop(&mut self) {
        self.merging = None;
        // SAFETY: it came from a box in `open`, and nothing refers to it any more.
        drop(unsafe { Box::from_raw(self.records.as_ptr()) });
    }
}

impl EagreMerge {
    fn open(records: Records, order: Order, sources: Vec<Buffer>) -> Result<EagreMerge, Fault> {
        let records = NonNull::from(Box::leak(heap::boxed(records)?));
        let mut merge = EagreMerge { merging: None, given: false, records };
        // SAFETY: it stays where it is until `merge` is dropped, which drops the merge that refers to it first.
        let records: &'static Records = unsafe { records.as_ref() };
        merge.merging = Some(with_records!(records, format => {
            heap::boxed(Merge::new(format, sources, order).map_err(fault)?)? as Box<dyn Merging>
        }));
        Ok(merge)
    }

    /// The record at the front, which has not been given out.
    fn front(&mut self) -> Result<Option<&[u8]>, Fault> {
        let failed = || Fault::invalid("merge: it has failed, and can only be closed");
        let merging = self.merging.as_mut().ok_or_else(failed)?;
        if self.given
            && let Err(error) = merging.advance()
        {
            self.merging = None;
            return Err(fault(error));
        }
        self.given = false;
        Ok(self.merging.as_ref().and_then(|merging| merging.record()))
    }
}

/// Begins to merge count sources of sorted records, 65536 at most. Of each, sources has the bytes that are there, perhaps none; refill gets
/// more of them, and may be null if all are there. Buffers stay the caller's: the bytes of a source must stay as they are
/// until its next refill, or until the merge is closed.
///
/// Equal keys come in the order of the sources. format may be null: lines; of a source that ends without a newline, the last
/// line comes out without one. refill must return: no longjmp, no exception. It is called here, too. Close what comes out with
/// eagre_merge_close.
///
/// Fails as eagre_merge_next, with EAGRE_RESOURCES, EAGRE_INVALID or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_merge_open(
    sources: *const EagreBytes,
    count: usize,
    format: *const EagreFormat,
    refill: EagreRefill,
    context: *mut c_void,
    merge: *mut *mut EagreMerge,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new(merge, "merge")? };
        if count > MOST_SOURCES {
            return Err(Fault::invalid(format_args!("merge: {count} sources are more than {MOST_SOURCES}")));
        }
        let mut buffers = heap::list(count)?;
        for number in 0..count {
            // SAFETY: the caller's promise: so many sources.
            let rest = *unsafe { shared(sources.wrapping_add(number), "sources")? };
            arguments::check_span(rest.bytes.cast(), rest.size)?;
            buffers.push(Buffer { rest, number, refill, context });
        }
        // SAFETY: the caller's promise.
        let (records, order) = unsafe { EagreFormat::read(format, false)? };
        place.put(EagreMerge::open(records, order, buffers)?);
        Ok(())
    })
}

/// The next record in *record, and in *size how many bytes it has. At the end *record is null. It is where its source has it,
/// and valid until the next call with this merge.
///
/// Fails with EAGRE_WRITER_FAILED if refill did, EAGRE_MALFORMED if a source ends inside a record, EAGRE_INVALID if refill
/// gave no more bytes and returned 1, or after a failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_merge_next(
    merge: *mut EagreMerge,
    record: *mut *const c_void,
    size: *mut usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (merge, record, size) =
            unsafe { (exclusive(merge, "merge")?, exclusive(record, "record")?, exclusive(size, "size")?) };
        (*record, *size) = (null(), 0);
        if let Some(front) = merge.front()? {
            (*record, *size) = (front.as_ptr().cast(), front.len());
            merge.given = true;
        }
        Ok(())
    })
}

/// Copies the next records to data, as many whole ones as size bytes have room for, and puts how many bytes these are into
/// *copied: 0 at the end.
///
/// Fails as eagre_merge_next, and with EAGRE_TOO_LARGE if not one record has room. On failure records may be lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_merge_copy_out(
    merge: *mut EagreMerge,
    data: *mut c_void,
    size: usize,
    copied: *mut usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (merge, data, copied) =
            unsafe { (exclusive(merge, "merge")?, bytes_mut(data.cast(), size)?, exclusive(copied, "copied")?) };
        *copied = 0;
        while let Some(front) = merge.front()? {
            let Some(room) = data.get_mut(*copied..*copied + front.len()) else {
                if *copied > 0 {
                    break;
                }
                let text = format_args!("merge: a record of {} bytes has no room in {size}", front.len());
                return Err(Fault::new(EagreStatus::EagreTooLarge, text));
            };
            room.copy_from_slice(front);
            *copied += front.len();
            merge.given = true;
        }
        Ok(())
    })
}

/// Gives up a merge. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_merge_close(merge: *mut EagreMerge) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(merge) });
        Ok(())
    });
}
