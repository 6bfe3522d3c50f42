//! Loops over bytes at the speed of memory: occurrences of a byte, words, columns.
//!
//! Each loop is written once (`loops.rs`), over blocks of 64 bytes of which it asks questions: which bytes equal this
//! one, which lie between these two? The answer is a mask with one bit per byte, and the rest is arithmetic on masks. How
//! a block answers is a matter of the processor (`x86.rs`, `neon.rs`, `portable.rs`), found out once at run time.
//!
//! Every byte is loaded once by each loop, and nothing but its answer depends on it: a mapped file may be changed by
//! somebody else meanwhile.

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
    /// AVX-512 with byte operations.
    Avx512,
    /// AVX2.
    Avx2,
    /// NEON of 64-bit ARM.
    Neon,
    /// None: words of eight bytes.
    Portable,
}

impl Simd {
    /// All of them, the widest first.
    pub const ALL: [Simd; 4] = [Simd::Avx512, Simd::Avx2, Simd::Neon, Simd::Portable];

    /// Whether this processor has it.
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

/// The loops, in the instructions of this processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernels {
    /// Available: that is what the constructors check.
    simd: Simd,
}

/// Calls one of the loops in its version for the chosen instructions.
macro_rules! dispatch {
    ($self:ident, $function:ident($($argument:expr),*)) => {
        match $self.simd {
            // SAFETY: constructors let only available instructions in.
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
    /// The best this processor can do, or what `EAGRE_SIMD` says. Found out once.
    ///
    /// # Errors
    /// The environment asks for something unknown, or for what this processor does not have. The message says so.
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

    /// Whether `EAGRE_SIMD` says something that can be had. Does not look at the processor if it says nothing.
    ///
    /// # Errors
    /// As [`Kernels::chosen`].
    pub(crate) fn check() -> Result<(), String> {
        match eagre_mem::options::simd(|text| text.parse::<Simd>().ok())? {
            None => Ok(()),
            Some(_) => Kernels::chosen().map(|_| ()),
        }
    }

    /// Those for so few bytes that it would take longer to ask the processor what it has (in a virtual machine, each question is
    /// the hypervisor's to answer); what `EAGRE_SIMD` says all the same.
    #[cfg(feature = "count")]
    pub(crate) fn for_few() -> Result<Kernels, String> {
        match eagre_mem::options::simd(|text| text.parse::<Simd>().ok())? {
            None => Ok(Kernels { simd: Simd::Portable }),
            Some(_) => Kernels::chosen(),
        }
    }

    /// The best this processor can do.
    #[must_use]
    pub(crate) fn best() -> Kernels {
        Kernels { simd: Simd::ALL.into_iter().find(|simd| simd.is_available()).unwrap_or(Simd::Portable) }
    }

    /// With these instructions; `None` if the processor does not have them.
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

    /// Counts words on from where `words` is.
    pub(crate) fn words(self, words: &mut Words, bytes: &[u8]) {
        dispatch!(self, words(words, bytes));
    }

    /// Measures lines on from where `columns` is.
    pub(crate) fn columns(self, columns: &mut Columns, bytes: &[u8]) {
        dispatch!(self, columns(columns, bytes));
    }
}
