//! Stands in for the kernel where there is none: the same names, but no kernel can be made.

use std::ops::ControlFlow;

/// A kernel that does not exist.
#[derive(Debug)]
pub(super) enum Kernel {}

/// How far a kernel came.
pub(super) enum Outcome {
    #[allow(dead_code, reason = "a kernel says so")]
    Done,
    #[allow(dead_code, reason = "a kernel says so")]
    Futile { next: usize },
}

impl Kernel {
    pub(super) fn new(_pattern: &[u8], _any_case: bool) -> Option<Kernel> {
        None
    }

    pub(super) fn each(&self, _: &[u8], _: usize, _: &mut impl FnMut(usize) -> ControlFlow<()>) -> Outcome {
        match *self {}
    }
}
