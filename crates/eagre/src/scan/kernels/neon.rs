//! NEON.

use super::loops::{Block, entry_points};
use std::arch::aarch64::*;

entry_points!(Four, "neon");

/// Four registers of 16 bytes.
#[derive(Clone, Copy)]
struct Four(uint8x16_t, uint8x16_t, uint8x16_t, uint8x16_t);

// SAFETY: the methods need NEON, which the entry points enable.
unsafe impl Block for Four {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Four {
        // SAFETY: the caller says that 64 bytes can be read there.
        unsafe { Four(vld1q_u8(from), vld1q_u8(from.add(16)), vld1q_u8(from.add(32)), vld1q_u8(from.add(48))) }
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            let wanted = vdupq_n_u8(byte);
            let Four(a, b, c, d) = self;
            Four(vceqq_u8(a, wanted), vceqq_u8(b, wanted), vceqq_u8(c, wanted), vceqq_u8(d, wanted)).mask()
        }
    }

    #[inline(always)]
    unsafe fn between(self, low: u8, high: u8) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            let (low, span) = (vdupq_n_u8(low), vdupq_n_u8(high - low));
            let Four(a, b, c, d) = self;
            let (a, b, c, d) = (vsubq_u8(a, low), vsubq_u8(b, low), vsubq_u8(c, low), vsubq_u8(d, low));
            Four(vcleq_u8(a, span), vcleq_u8(b, span), vcleq_u8(c, span), vcleq_u8(d, span)).mask()
        }
    }

    /// As with AVX2: one counter for each byte lane, and the counters are summed before they can overflow.
    #[inline(always)]
    unsafe fn count(byte: u8, bytes: &[u8]) -> u64 {
        let mut sum = 0;
        // SAFETY: the loads read whole blocks of a slice; the caller says that the instructions are there.
        unsafe {
            let wanted = vdupq_n_u8(byte);
            for stretch in bytes.chunks(255 * 64) {
                let mut counters = [vdupq_n_u8(0); 4];
                for block in stretch.chunks_exact(64) {
                    let Four(a, b, c, d) = Four::load(block.as_ptr());
                    counters[0] = vsubq_u8(counters[0], vceqq_u8(a, wanted));
                    counters[1] = vsubq_u8(counters[1], vceqq_u8(b, wanted));
                    counters[2] = vsubq_u8(counters[2], vceqq_u8(c, wanted));
                    counters[3] = vsubq_u8(counters[3], vceqq_u8(d, wanted));
                }
                for lane in counters {
                    sum += u64::from(vaddlvq_u8(lane));
                }
            }
        }
        sum
    }
}

impl Four {
    /// One bit for each byte, which must be all ones or all zeros.
    ///
    /// # Safety
    /// The processor has NEON.
    #[inline(always)]
    unsafe fn mask(self) -> u64 {
        const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: the caller's contract; the constant has 16 bytes.
        unsafe {
            // Each byte keeps the bit of its position among eight. Three pairwise additions combine eight bytes into
            // one.
            let bits = vld1q_u8(BITS.as_ptr());
            let low = vpaddq_u8(vandq_u8(self.0, bits), vandq_u8(self.1, bits));
            let high = vpaddq_u8(vandq_u8(self.2, bits), vandq_u8(self.3, bits));
            let quarters = vpaddq_u8(low, high);
            let eighths = vpaddq_u8(quarters, quarters);
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(eighths))
        }
    }
}
