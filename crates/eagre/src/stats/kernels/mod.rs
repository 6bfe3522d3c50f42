//! The two passes with vector instructions.
//!
//! # Safety
//! A [`Level`] is proof that the processor has the instructions it names. That makes it sound to call the functions
//! that are compiled for them. All other unsafe operations are loads and stores, with their reasons beside them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::index::{self, Index};
use super::rows::Rows;
use super::table::Table;
use crate::scan::kernels::Simd;

/// The instructions to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
}

impl Level {
    /// The best of these levels that can be used with `simd`.
    pub(super) fn of(simd: Simd) -> Level {
        match simd {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => avx512::Avx512::new().map_or_else(|| Level::of(Simd::Avx2), Level::Avx512),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => avx2::Avx2::new().map_or(Level::Portable, Level::Avx2),
            _ => Level::Portable,
        }
    }

    /// [`Index::fill`].
    pub(super) fn index(self, text: &[u8], delimiter: u8, index: &mut Index) {
        match self {
            Level::Portable => index::portable(text, delimiter, index),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(level) => level.index(text, delimiter, index),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(level) => level.index(text, delimiter, index),
        }
    }

    /// [`Rows::add`].
    pub(super) fn add(self, rows: Rows<'_>, from: usize, table: &mut Table) -> usize {
        match self {
            Level::Portable => rows.add(from, table),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(level) => level.add(rows, from, table),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(level) => level.add(rows, from, table),
        }
    }
}
