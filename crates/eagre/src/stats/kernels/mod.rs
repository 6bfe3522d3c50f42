//! The two passes for processors that can do more at once.
//!
//! # Safety
//! A [`Level`] is proof that the processor has the instructions it names: that makes calling the functions sound that are
//! compiled for them. Everything else that is unsafe is a load or a store, argued where it stands.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::index::{self, Index};
use super::rows::Rows;
use super::table::Table;

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
    /// The best there is, or what `EAGRE_SIMD` says (`portable`, `avx2`, `avx512`) if this machine has it.
    pub(super) fn best() -> Level {
        let name = std::env::var("EAGRE_SIMD").ok();
        Level::all()
            .into_iter()
            .rfind(|level| name.as_ref().is_none_or(|name| level.name() == name))
            .unwrap_or(Level::Portable)
    }

    /// All that this machine has, the best one last.
    pub(super) fn all() -> Vec<Level> {
        #[allow(unused_mut, reason = "other processors add nothing")]
        let mut all = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(avx2::Avx2::new().map(Level::Avx2));
            all.extend(avx512::Avx512::new().map(Level::Avx512));
        }
        all
    }

    fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
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
