//! AVX-512 as in Ice Lake and Zen 4.
//!
//! *Index*: two comparisons of 64 bytes give the masks of delimiters and newlines, and one compress instruction turns
//! them into positions. The masks also tell whether all lines have the same number of fields: compressed to one bit per
//! field end, every n-th bit must be a newline.
//!
//! *Rows* are processed sixteen at a time. Their numbers are parsed together, eight per register, without a branch.
//! Then each key is loaded with a mask that zeroes the bytes behind it, hashed, and compared with the entry in its
//! slot. All loads are bounded by what the first pass stored. The text itself may change meanwhile, because it may be a
//! mapped file.
//!
//! On Zen 5, a row of the one-billion-row challenge takes 72 instructions and 21 to 23 cycles in all. It took 186 and
//! 46 when numbers were parsed one at a time, and 103 and 32 when the shape of rows was looked up for each row and the
//! table kept slots and entries apart.

use std::arch::x86_64::*;

use super::avx2::Avx2;
use super::{Index, Rows, Table};
use crate::stats::fixed::Fixed;
use crate::stats::index::{BLOCK, ROOM};
use crate::stats::rows::Shape;
use crate::stats::table::{LONGEST, SPREAD};

/// Proof that the processor has the parts of AVX-512 that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

/// Rows whose numbers are parsed together.
const GROUP: usize = 16;

impl Avx512 {
    pub(super) fn new() -> Option<Avx512> {
        Avx2::new()?;
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vbmi2"))
        .then_some(Avx512(()))
    }

    pub(super) fn index(self, text: &[u8], delimiter: u8, index: &mut Index) {
        // SAFETY: `new` checked the instructions.
        unsafe {
            match index.expected {
                2 => fill::<true>(text, delimiter, index),
                _ => fill::<false>(text, delimiter, index),
            }
        }
    }

    pub(super) fn add(self, rows: Rows<'_>, from: usize, table: &mut Table) -> usize {
        // SAFETY: `new` checked the instructions.
        unsafe { add(rows, from, table) }
    }
}

/// [`Index::fill`]. `PAIR`: lines are expected to have two fields.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill<const PAIR: bool>(text: &[u8], delimiter: u8, index: &mut Index) {
    let delimiters = _mm512_set1_epi8(delimiter as i8);
    let newlines = _mm512_set1_epi8(b'\n' as i8);
    let numbers: [u8; 64] = std::array::from_fn(|number| number as u8);
    // SAFETY: 64 bytes.
    let numbers = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
    // Bit i: whether field i ends its line, if all lines have the expected number of fields.
    let width = if PAIR { 2 } else { index.expected };
    let pattern =
        (1..=128_u32).fold(0_u128, |bits, field| bits | u128::from(field.is_multiple_of(width)) << (field - 1));
    let mut irregular = 0;
    let (mut fields, mut lines) = (0, 0);
    assert!(text.len() + 1 + 64 <= ROOM);
    let ends = index.ends.as_mut_ptr();
    let mut at = 0;
    while at < text.len() {
        let inside = _bzhi_u64(u64::MAX, (text.len() - at).min(64) as u32);
        // SAFETY: bytes outside the text are masked out, and not touched.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(inside, text.as_ptr().add(at).cast()) };
        let line_mask = _mm512_mask_cmpeq_epi8_mask(inside, bytes, newlines);
        let mask = line_mask | _mm512_mask_cmpeq_epi8_mask(inside, bytes, delimiters);
        let count = mask.count_ones();
        let places = _mm512_maskz_compress_epi8(mask, numbers);
        let base = _mm512_set1_epi16(at as i16);
        let low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(places)), base);
        // SAFETY: `fields` is at most `at`, so by the assertion there is room for 64 more behind the first entry.
        unsafe { _mm512_storeu_si512(ends.add(1 + fields).cast(), low) };
        if count > 32 {
            let high = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(places)), base);
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(ends.add(1 + fields + 32).cast(), high) };
        }
        let phase = fields as u32 % width;
        irregular |= _bzhi_u64(_pext_u64(line_mask, mask) ^ (pattern >> phase) as u64, count);
        fields += count as usize;
        lines += line_mask.count_ones() as usize;
        at += 64;
    }
    index.fields = fields;
    index.lines = lines;
    index.regular = irregular == 0 && width <= 64;
}

/// [`Rows::add`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn add(rows: Rows<'_>, from: usize, table: &mut Table) -> usize {
    // Parsing a number loads the eight bytes before its end.
    if !rows.regular || rows.base < 8 {
        return rows.add(from, table);
    }
    // Ends are in ascending order, so all of them are in the text.
    let last = rows.base + usize::from(rows.ends[rows.ends.len() - 1]);
    assert!(rows.count() == 0 || last < rows.text.len());
    let mut row = from;
    while row < rows.count() {
        let size = GROUP.min(rows.count() - row);
        let group =
            if rows.shape == Shape::PAIR { read::<true>(&rows, row, size) } else { read::<false>(&rows, row, size) };
        prefetch(&rows, row);
        let done = add_group(&rows, &group, table);
        row += done;
        if done < size {
            return row;
        }
    }
    row
}

/// Prefetches the text two blocks ahead, about as much as a group of short rows takes. A mapped file comes from memory,
/// and the prefetcher of the processor stops at page boundaries. Without this, rows of a mapped file take a third
/// longer.
#[inline]
#[allow(unused_unsafe, reason = "from Rust 1.97 on a prefetch is safe")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn prefetch(rows: &Rows<'_>, row: usize) {
    let ahead = rows.text.as_ptr().wrapping_add(rows.start(row) + 2 * BLOCK);
    for line in 0..4 {
        // SAFETY: a prefetch accepts any address, and does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(64 * line).cast()) };
    }
}

/// The fields of the rows of a group.
struct Group {
    /// Their values.
    values: [i32; GROUP],
    /// Where keys begin in the block.
    keys: [u32; GROUP],
    /// The lengths of their keys.
    lengths: [u32; GROUP],
    /// One bit for each byte of the key.
    masks: [u32; GROUP],
    /// The number of rows before the first whose key or value is not suitable.
    good: usize,
}

/// Adds rows up to the first that is not suitable. Returns how many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn add_group(rows: &Rows<'_>, group: &Group, table: &mut Table) -> usize {
    // SAFETY: four words.
    let secret = unsafe { _mm256_loadu_si256(table.secret().as_ptr().cast()) };
    let block = rows.text[rows.base..].as_ptr();
    for row in 0..group.good {
        // SAFETY: the mask selects a key inside the block. Other bytes are not touched.
        let key = unsafe { _mm256_maskz_loadu_epi8(group.masks[row], block.add(group.keys[row] as usize).cast()) };
        // The same hash as `table::hash`.
        let shifted = _mm256_add_epi32(key, secret);
        let products = _mm256_mul_epu32(shifted, _mm256_srli_epi64::<32>(shifted));
        let pairs = _mm_add_epi64(_mm256_castsi256_si128(products), _mm256_extracti128_si256::<1>(products));
        let sum = _mm_cvtsi128_si64(_mm_add_epi64(pairs, _mm_unpackhi_epi64(pairs, pairs))) as u64;
        let hash = (sum.wrapping_mul(SPREAD) >> 32) as u32;
        let entry = table.slot(hash);
        // SAFETY: four words.
        let known = unsafe { _mm256_loadu_si256(entry.key.as_ptr().cast()) };
        if _mm256_cmpneq_epi64_mask(key, known) == 0 && entry.length == group.lengths[row] {
            entry.add(group.values[row]);
        } else {
            let mut words = [0; 4];
            // SAFETY: four words.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), key) };
            table.add_elsewhere(&words, group.lengths[row], hash, group.values[row]);
        }
    }
    group.good
}

/// Finds the keys and parses the values of `size` rows from `row` on, eight at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn read<const PAIR: bool>(rows: &Rows<'_>, row: usize, size: usize) -> Group {
    let shape = if PAIR { Shape::PAIR } else { rows.shape };
    let mut group = Group { values: [0; GROUP], keys: [0; GROUP], lengths: [0; GROUP], masks: [0; GROUP], good: 0 };
    let wanted = _bzhi_u32(u32::MAX, size as u32);
    let mut good = 0;
    // From eight bytes before the block, so that the offset of an end is the offset of the word that ends there.
    let words = rows.text[rows.base - 8..].as_ptr();
    for half in [0, 8] {
        let wanted = (wanted >> half) as u8;
        let (start, length) = fields::<PAIR>(rows, shape, shape.value, row + half, wanted);
        let end = _mm256_add_epi32(start, length);
        // SAFETY: the eight bytes before the end of a field of the block, which has eight bytes before it.
        let word = unsafe { _mm512_mask_i32gather_epi64::<1>(_mm512_setzero_si512(), wanted, end, words.cast()) };
        let (values, numbers) = parse(rows.fixed, word, length);

        let (start, length) = fields::<PAIR>(rows, shape, shape.key, row + half, wanted);
        let length = if shape.key + 1 == shape.fields { without_return(rows, start, length, wanted) } else { length };
        let short = _mm256_cmple_epu32_mask(length, _mm256_set1_epi32(LONGEST as i32));
        // A shift by all bits gives zero.
        let mask = _mm256_sub_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), length), _mm256_set1_epi32(1));
        good |= u32::from(numbers & short & wanted) << half;
        // SAFETY: eight of sixteen each.
        unsafe {
            _mm256_storeu_si256(group.values.as_mut_ptr().add(half).cast(), values);
            _mm256_storeu_si256(group.keys.as_mut_ptr().add(half).cast(), start);
            _mm256_storeu_si256(group.lengths.as_mut_ptr().add(half).cast(), length);
            _mm256_storeu_si256(group.masks.as_mut_ptr().add(half).cast(), mask);
        }
    }
    group.good = good.trailing_ones() as usize;
    group
}

/// Where field `number` of eight rows begins in the block, and its length. Zero for rows that are not wanted.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fields<const PAIR: bool>(
    rows: &Rows<'_>,
    shape: Shape,
    number: usize,
    row: usize,
    wanted: u8,
) -> (__m256i, __m256i) {
    // Each lane holds two neighbours: the end of the field before, and the end of the field.
    let ends = rows.ends.as_ptr().wrapping_add(row * shape.fields + number);
    let pairs = if PAIR {
        // SAFETY: the ends of wanted rows exist. Nothing else is touched.
        unsafe { _mm256_maskz_loadu_epi32(wanted, ends.cast()) }
    } else {
        let offsets =
            _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(shape.fields as i32));
        // SAFETY: as above.
        unsafe { _mm256_mmask_i32gather_epi32::<2>(_mm256_setzero_si256(), wanted, offsets, ends.cast()) }
    };
    let start = _mm256_add_epi16(pairs, _mm256_maskz_set1_epi32(wanted, 1));
    let start = _mm256_and_si256(start, _mm256_set1_epi32(0xffff));
    (start, _mm256_sub_epi32(_mm256_srli_epi32::<16>(pairs), start))
}

/// The lengths of fields at the ends of lines, without a carriage return.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn without_return(rows: &Rows<'_>, start: __m256i, length: __m256i, wanted: u8) -> __m256i {
    let block = rows.text[rows.base - 4..].as_ptr();
    let end = _mm256_add_epi32(start, length);
    // SAFETY: the four bytes before the end of a field of the block, which has eight bytes before it.
    let word = unsafe { _mm256_mmask_i32gather_epi32::<1>(_mm256_setzero_si256(), wanted, end, block.cast()) };
    let returns = _mm256_cmpeq_epi32_mask(_mm256_srli_epi32::<24>(word), _mm256_set1_epi32(b'\r'.into()));
    let some = _mm256_test_epi32_mask(length, length);
    _mm256_mask_sub_epi32(length, returns & some, length, _mm256_set1_epi32(1))
}

/// Parses eight numbers as [`Fixed::parse`] does, and returns a mask of those that are valid.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn parse(fixed: Fixed, word: __m512i, length: __m256i) -> (__m256i, u8) {
    let bytes = |byte: u8| _mm512_set1_epi8(byte as i8);
    let each = |number: i64| _mm512_set1_epi64(number);
    let (one, all) = (each(1), each(64));
    let points = i64::from(fixed.gap / 8);
    let behind = each(fixed.behind as i64);
    let length = _mm512_cvtepu32_epi64(length);

    // A carriage return is not part of the number.
    let returns = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<56>(word), each(b'\r'.into()));
    let word = _mm512_mask_slli_epi64::<8>(word, returns, word);
    let length = _mm512_mask_sub_epi64(length, returns, length, one);

    let first = _mm512_srlv_epi64(word, _mm512_sub_epi64(all, _mm512_slli_epi64::<3>(length)));
    let negative = _mm512_cmpeq_epi64_mask(_mm512_and_si512(first, each(0xff)), each(b'-'.into()));
    let characters = _mm512_mask_sub_epi64(length, negative, length, one);
    let digits = _mm512_sub_epi64(characters, each(points));
    let real = _mm512_sllv_epi64(each(-1), _mm512_sub_epi64(all, _mm512_slli_epi64::<3>(digits)));
    let moved = _mm512_sll_epi64(word, _mm_cvtsi32_si128(fixed.gap as i32));
    let number = _mm512_or_si512(_mm512_and_si512(word, behind), _mm512_andnot_si512(behind, moved));
    let number = _mm512_and_si512(_mm512_xor_si512(number, bytes(b'0')), real);
    let no_digit = _mm512_subs_epu8(number, bytes(9));
    let no_point = _mm512_and_si512(_mm512_xor_si512(word, bytes(b'.')), each(fixed.point as i64));
    let wrong = _mm512_or_si512(no_digit, no_point);
    let shaped = _mm512_testn_epi64_mask(wrong, wrong);
    let least = i64::from(fixed.decimals) + 1;
    let sized = _mm512_cmple_epu64_mask(_mm512_sub_epi64(digits, each(least)), each(8 - points - least));

    let tens = _mm512_maddubs_epi16(number, _mm512_set1_epi16(10 | 1 << 8));
    let hundreds = _mm512_madd_epi16(tens, _mm512_set1_epi32(100 | 1 << 16));
    let number = _mm512_add_epi64(_mm512_mul_epu32(hundreds, each(10_000)), _mm512_srli_epi64::<32>(hundreds));
    let number = _mm512_mask_sub_epi64(number, negative, _mm512_setzero_si512(), number);
    (_mm512_cvtepi64_epi32(number), shaped & sized)
}
