//! Cutting records into parts: boundaries from a sample, and a sort that says where each part ends.

use eagre_mem::heap;

use super::gather::{gather, gather_into};
use super::index::IndexError;
use super::pace::Pace;
use super::{Index, Order};
use crate::records::{Format, Malformed};
use crate::sort::{SortError, Sorter};

/// Chooses the keys that cut records into `parts` parts of like size, from a sample of whole records: `parts - 1` keys
/// in order. Part n has the keys from boundary n - 1 on, and below boundary n.
///
/// # Errors
/// The sample is not made of whole records, or memory is refused.
///
/// ```
/// use eagre::external::kernels::{Order, sample_boundaries};
/// use eagre::records::Lines;
///
/// let boundaries = sample_boundaries(&Lines::default(), b"d\nb\na\nc\n", 2, Order::default())?;
/// assert_eq!(boundaries, [b"c"]);
/// # Ok::<(), eagre::external::kernels::IndexError>(())
/// ```
pub fn sample_boundaries(
    format: &impl Format,
    sample: &[u8],
    parts: usize,
    order: Order,
) -> Result<Vec<Vec<u8>>, IndexError> {
    let (index, words) = sorted(format, sample, order, &Sorter::new().threads(1))?;
    let mut scratch = Vec::new();
    let count = if words.is_empty() { 0 } else { parts.saturating_sub(1) };
    let mut keys = heap::list(count).map_err(SortError::from)?;
    for part in 1..=count {
        let word = words[(part as u128 * words.len() as u128 / parts as u128) as usize];
        let key = format.key(index.record(format, sample, word), &mut scratch);
        keys.push(heap::copied(key).map_err(SortError::from)?);
    }
    Ok(keys)
}

/// Writes `records` to `out` in order, and returns where each part ends in `out`. Boundaries are keys in order, such as
/// those of [`sample_boundaries`]; there is one part more than boundaries.
///
/// Records with equal keys stay in order. Beside both buffers, 16 bytes per record are needed, and what the sorter takes
/// ([`Sorter::slack`]).
///
/// # Errors
/// `records` are not whole records (a last line lacks its end), memory is refused, or the sorter's progress hook stops it.
///
/// # Panics
/// If `out` is not as long as `records`.
pub fn sort_and_partition(
    format: &impl Format,
    records: &[u8],
    boundaries: &[Vec<u8>],
    order: Order,
    sorter: &Sorter<'_>,
    out: &mut [u8],
) -> Result<Vec<usize>, IndexError> {
    assert_eq!(records.len(), out.len(), "both buffers have the same size");
    let (index, words) = sorted(format, records, order, sorter)?;
    let mut scratch = Vec::new();
    let mut cuts = heap::list(boundaries.len() + 1).map_err(SortError::from)?;
    for boundary in boundaries {
        cuts.push(words.partition_point(|&word| {
            let key = format.key(index.record(format, records, word), &mut scratch);
            order.of(key.cmp(boundary)).is_lt()
        }));
    }
    cuts.push(words.len());
    let mut ends = heap::list(cuts.len()).map_err(SortError::from)?;
    let (mut start, mut done) = (0, 0);
    if let Some(size) = format.record_size() {
        gather_into(&index, records, size, &words, sorter.team_size(words.len()), out);
        ends.extend(cuts.iter().map(|&cut| {
            start = cut.max(start);
            start * size
        }));
        return Ok(ends);
    }
    for cut in cuts {
        let end = cut.max(start);
        let threads = sorter.team_size(end - start);
        let mean = records.len() / words.len().max(1);
        let mut put = |bytes: &[u8]| {
            out[done..done + bytes.len()].copy_from_slice(bytes);
            done += bytes.len();
            Ok(())
        };
        let gathered = gather(
            &index,
            (format, records),
            &words[start..end],
            mean,
            None,
            &Pace::free(threads),
            &|_, fetch| fetch(),
            &mut put,
        );
        gathered.map_err(|_| SortError::Memory { bytes: mean })?;
        ends.push(done);
        start = end;
    }
    Ok(ends)
}

fn sorted(
    format: &impl Format,
    records: &[u8],
    order: Order,
    sorter: &Sorter<'_>,
) -> Result<(Index, Vec<u128>), IndexError> {
    if let Some(end) = format.terminator()
        && records.last().is_some_and(|&last| last != end)
    {
        let last = records.iter().rev().take_while(|&&byte| byte != end).count();
        let why = Malformed::Truncated { bytes: last as u64, wanted: None };
        return Err(IndexError::Malformed(records.len() - last, why));
    }
    let index = Index::new(format, records.len() as u64, order);
    let mut words = Vec::new();
    index.append(format, records, 0..records.len(), &mut words)?;
    index.sort(format, records, &mut words, sorter)?;
    Ok((index, words))
}
