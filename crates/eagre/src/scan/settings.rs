//! The settings that all questions about files share: threads, instructions, plan, progress hook.
//!
//! [`Scanner`](super::Scanner) stores the settings. `Counter`, `Finder` and `Aggregator` hold a scanner. One macro
//! gives all of them the same four methods with the same documentation.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::kernels::{Kernels, Simd};
use super::plan::{self, Plan};
use crate::file::failure::Task;

/// Gets the number of bytes done, and decides whether to go on.
pub(crate) type Hook<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// The settings of one question.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settings<'a> {
    /// 0 means as many as this process may use.
    pub(crate) threads: usize,
    /// `None` means what `EAGRE_SIMD` says, or the best that this processor has.
    pub(crate) simd: Option<Simd>,
    /// `None` means what `EAGRE_PLAN` says, or what suits the file.
    pub(crate) plan: Option<Plan>,
    pub(crate) hook: Option<Hook<'a>>,
}

impl Settings<'_> {
    /// Checks that the processor has the instructions that the settings or the environment ask for. If they ask for
    /// none, the processor's features are not looked up.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput).
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.simd {
            None => Kernels::check().map_err(invalid),
            Some(_) => self.kernels().map(drop),
        }
    }

    /// The loops for the chosen instructions.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub(crate) fn kernels(&self) -> io::Result<Kernels> {
        let Some(simd) = self.simd else { return Kernels::chosen().map_err(invalid) };
        Kernels::with(simd).ok_or_else(|| invalid(format!("simd {simd}: this processor has no such instructions")))
    }

    /// As [`kernels`](Self::kernels), for so few bytes that looking up the processor's features does not pay.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    #[cfg(feature = "count")]
    pub(crate) fn kernels_for_few(&self) -> io::Result<Kernels> {
        if self.simd.is_some() { self.kernels() } else { Kernels::for_few().map_err(invalid) }
    }

    /// Reports the number of bytes done to the hook.
    ///
    /// # Errors
    /// [`Cancelled`] if the hook ends the call.
    pub(crate) fn told(&self, bytes: u64) -> io::Result<()> {
        match self.hook.map(|hook| hook(bytes)) {
            Some(ControlFlow::Break(())) => Err(Cancelled.into()),
            _ => Ok(()),
        }
    }

    /// The plan that the settings or the environment ask for.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput).
    pub(super) fn plan(&self) -> io::Result<Option<Plan>> {
        self.plan.map_or_else(plan::from_environment, |plan| Ok(Some(plan))).map_err(invalid)
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

impl fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { threads, simd, plan, hook } = self;
        let mut shown = f.debug_struct("Settings");
        shown.field("threads", threads).field("simd", simd).field("plan", plan);
        shown.field("progress", &hook.is_some()).finish()
    }
}

/// The [progress hook](super::Scanner::progress) ended a call.
///
/// It comes as an [`io::Error`] with the system's number for that, `ECANCELED`, which takes no memory:
/// [`Cancelled::is_cause_of`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancelled;

impl Cancelled {
    /// Whether `error` means that the progress hook ended the call.
    #[must_use]
    pub fn is_cause_of(error: &io::Error) -> bool {
        error.raw_os_error() == Some(rustix::io::Errno::CANCELED.raw_os_error())
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

impl From<Cancelled> for io::Error {
    fn from(_: Cancelled) -> io::Error {
        rustix::io::Errno::CANCELED.into()
    }
}

/// The same error with the file's name in front. Two errors stay as they are: [`Cancelled`], and a lack of memory, for
/// which there may be no memory to make a text.
pub(crate) fn about(what: &'static str, path: &Path, error: io::Error) -> io::Error {
    if Cancelled::is_cause_of(&error) || error.kind() == io::ErrorKind::OutOfMemory {
        return error;
    }
    Task::of(what, path).error(&error)
}

/// Defines the setting methods of a builder whose settings are in `self.$settings`.
macro_rules! setting_methods {
    ($($settings:ident).+) => {
        /// The most threads to use, the calling thread included. 0, the default, means as many as this process may use:
        /// what the machine, the affinity mask and the quota of the control group allow.
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.$($settings).+.threads = threads;
            self
        }

        /// The vector instructions to use. Default: what `EAGRE_SIMD` says, or the best that this processor has. If the
        /// processor lacks them, the call that scans returns an error
        /// ([`InvalidInput`](std::io::ErrorKind::InvalidInput)).
        #[must_use]
        pub fn simd(mut self, simd: $crate::scan::Simd) -> Self {
            self.$($settings).+.simd = Some(simd);
            self
        }

        /// The plan for regular files, whatever `EAGRE_PLAN` says. Default: what suits each file. Small files are
        /// always read, and so are files that cannot be mapped.
        #[must_use]
        pub fn plan(mut self, plan: $crate::scan::Plan) -> Self {
            self.$($settings).+.plan = Some(plan);
            self
        }

        /// Calls `hook` with the number of bytes done after each piece. If it returns `Break`, the call that scans
        /// returns the error [`Cancelled`](crate::scan::Cancelled). The hook runs on the calling thread. If it panics,
        /// the panic goes on in the caller.
        #[must_use]
        pub fn progress(mut self, hook: &'a (dyn Fn(u64) -> std::ops::ControlFlow<()> + Sync)) -> Self {
            self.$($settings).+.hook = Some(hook);
            self
        }
    };
}
pub(crate) use setting_methods;
