//! The random numbers of the benchmark: a linear congruential sequence of 128 bits, entered anywhere.
//!
//! `X(0) = 0`, `X(n + 1) = A X(n) + C`, modulo 2^128. `n` steps at once are one step with other constants, and those
//! come from doubling: twice `x -> a x + c` is `x -> a² x + c (a + 1)`.

const A: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const C: u128 = 0x4a69_6d47_7261_7952_4950_2020_2020_2001;

/// A place in the sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence(u128);

impl Sequence {
    /// In front of `X(n + 1)`.
    pub(super) fn after(n: u128) -> Sequence {
        let (mut factor, mut addend) = (A, C);
        let mut state: u128 = 0;
        for bit in 0..128 - n.leading_zeros() {
            if n >> bit & 1 == 1 {
                state = state.wrapping_mul(factor).wrapping_add(addend);
            }
            addend = addend.wrapping_mul(factor.wrapping_add(1));
            factor = factor.wrapping_mul(factor);
        }
        Sequence(state)
    }

    /// The next number.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u128 {
        self.0 = self.0.wrapping_mul(A).wrapping_add(C);
        self.0
    }
}
