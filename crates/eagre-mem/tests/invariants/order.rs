//! Invariant 3: bytes arrive in order and exactly once.
