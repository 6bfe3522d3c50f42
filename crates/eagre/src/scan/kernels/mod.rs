//! Loops over bytes at the speed of memory: counting a byte, words, line widths.
//!
//! Each loop is written once (`loops.rs`), over blocks of 64 bytes. It compares a block (which bytes equal this one,
//! which lie between these two?), gets a mask with one bit per byte, and calculates with masks. The comparisons differ
//! by processor (`x86.rs`, `neon.rs`, `portable.rs`), which is detected once at run time.
//!
//! Each loop loads every byte only once, and the byte influences nothing but the result. This matters because another
//! program may change a mapped file meanwhile.

mod loops;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

pub(crate) use loops::{Columns, Words};

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Simd {
    /// AVX-512 with byte operations (AVX-512BW).
    Avx512,
    /// AVX2.
    Avx2,
    /// NEON of 64-bit Arm.
    Neon,
    /// No vector instructions: words of eight bytes.
    Portable,
}

impl Simd {
    /// All of them, the widest first.
    pub const ALL: [Simd; 4] = [Simd::Avx512, Simd::Avx2, Simd::Neon, Simd::Portable];

    /// Whether this processor has these instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => x86::has_avx512(),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Simd::Portable => true,
            #[allow(unreachable_patterns, reason = "which are left depends on the processor")]
            _ => false,
        }
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Simd::Avx512 => "avx512",
            Simd::Avx2 => "avx2",
            Simd::Neon => "neon",
            Simd::Portable => "portable",
        })
    }
}

impl FromStr for Simd {
    type Err = ();
    fn from_str(name: &str) -> Result<Simd, ()> {
        Simd::ALL.into_iter().find(|simd| simd.to_string() == name).ok_or(())
    }
}

/// The loops for one set of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernels {
    /// Available on this processor: the constructors check that.
    simd: Simd,
}

/// Calls the version of a loop for the chosen instructions.
macro_rules! dispatch {
    ($self:ident, $function:ident($($argument:expr),*)) => {
        match $self.simd {
            // SAFETY: the constructors accept only available instructions.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { x86::avx512::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { x86::avx2::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => unsafe { neon::$function($($argument),*) },
            _ => portable::$function($($argument),*),
        }
    };
}

impl Kernels {
    /// What `EAGRE_SIMD` says, or the best that this processor has. Determined once.
    ///
    /// # Errors
    /// `EAGRE_SIMD` has an unknown value, or names instructions that this processor lacks. The error is the message.
    pub(crate) fn chosen() -> Result<Kernels, String> {
        static CHOSEN: OnceLock<Result<Kernels, String>> = OnceLock::new();
        CHOSEN.get_or_init(Kernels::choose).clone()
    }

    fn choose() -> Result<Kernels, String> {
        match eagre_mem::options::simd(|text| text.parse::<Simd>().ok())? {
            None => Ok(Kernels::best()),
            Some(simd) => {
                Kernels::with(simd).ok_or_else(|| format!("EAGRE_SIMD={simd}: this processor has no such instructions"))
            }
        }
    }

    /// Checks `EAGRE_SIMD`. Does not ask for the processor's features if it is not set.
    ///
    /// # Errors
    /// As [`Kernels::chosen`].
    pub(crate) fn check() -> Result<(), String> {
        match eagre_mem::options::simd(|text| text.parse::<Simd>().ok())? {
            None => Ok(()),
            Some(_) => Kernels::chosen().map(|_| ()),
        }
    }

    /// The loops for so few bytes that asking for the processor's features would take longer (in a virtual machine, the
    /// hypervisor answers each question). `EAGRE_SIMD` holds all the same.
    #[cfg(feature = "count")]
    pub(crate) fn for_few() -> Result<Kernels, String> {
        match eagre_mem::options::simd(|text| text.parse::<Simd>().ok())? {
            None => Ok(Kernels { simd: Simd::Portable }),
            Some(_) => Kernels::chosen(),
        }
    }

    /// The best instructions of this processor.
    #[must_use]
    pub(crate) fn best() -> Kernels {
        Kernels { simd: Simd::ALL.into_iter().find(|simd| simd.is_available()).unwrap_or(Simd::Portable) }
    }

    /// The loops for these instructions. `None` if the processor does not have them.
    #[must_use]
    pub(crate) fn with(simd: Simd) -> Option<Kernels> {
        simd.is_available().then_some(Kernels { simd })
    }

    /// The instructions used.
    #[must_use]
    pub(crate) fn simd(self) -> Simd {
        self.simd
    }

    /// How often `byte` occurs.
    #[must_use]
    pub(crate) fn count(self, byte: u8, bytes: &[u8]) -> u64 {
        dispatch!(self, count(byte, bytes))
    }

    /// Counts the words in `bytes`, which follow those that `words` has seen.
    pub(crate) fn words(self, words: &mut Words, bytes: &[u8]) {
        dispatch!(self, words(words, bytes));
    }

    /// Measures the lines in `bytes`, which follow those that `columns` has seen.
    pub(crate) fn columns(self, columns: &mut Columns, bytes: &[u8]) {
        dispatch!(self, columns(columns, bytes));
    }
}
