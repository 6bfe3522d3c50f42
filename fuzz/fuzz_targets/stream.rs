//! Random calls on a stream, through the explicit interface and through pointers, against a model: a vector of bytes
//! and two positions.
#![no_main]

use eagre_mem::stream::{StreamErrorKind, Pipe};
use eagre_mem::{BlockSize, Mover, Trap};
use libfuzzer_sys::fuzz_target;

const BLOCK: usize = 64 << 10;

fuzz_target!(|input: (u8, u8, u8, bool, Vec<(u8, u32)>)| {
    let (rewrite, lookback, read_ahead, pointers, calls) = input;
    let (rewrite, lookback) = (u32::from(rewrite % 4), u32::from(lookback % 4));
    let read_ahead = u32::from(read_ahead % 3) + 1;
    let (trap, mover) = if pointers { (Trap::Signal, Mover::Move) } else { (Trap::Off, Mover::Copy) };
    let pipe = Pipe::builder()
        .block_size(BlockSize::MIN)
        .rewrite(rewrite)
        .lookback(lookback)
        .read_ahead(read_ahead)
        .capacity(64 << 20)
        .trap(trap)
        .mover(mover);
    let mut pipe = pipe.open().expect("opens");
    let mut model: Vec<u8> = Vec::new();
    let (mut read, mut seed) = (0usize, 1u8);
    // What one handle may write before it must read: everything up to the last block it may hold.
    let most = (rewrite + lookback + read_ahead + 1) as usize * BLOCK;
    for (call, argument) in calls {
        let argument = argument as usize;
        // Released blocks come back block by block, as the reader leaves them.
        let room = (read / BLOCK * BLOCK + most).saturating_sub(model.len()).min((64 << 20) - model.len());
        match call % 6 {
            0 => {
                let bytes: Vec<u8> = (0..argument % (3 * BLOCK)).map(|at| seed.wrapping_add(at as u8)).collect();
                let bytes = &bytes[..bytes.len().min(room)];
                pipe.writer().copy_in(bytes).expect("there is room");
                model.extend_from_slice(bytes);
                seed = seed.wrapping_mul(31).wrapping_add(7);
            }
            1 => {
                let wanted = argument % (5 * BLOCK);
                let first = model.len() / BLOCK;
                let last = (model.len() + wanted.max(1) - 1) / BLOCK;
                if last * BLOCK >= read / BLOCK * BLOCK + most {
                    continue;
                }
                match pipe.writer().reserve(wanted) {
                    Ok(slice) => {
                        assert!(slice.len() >= wanted.max(1) && last - first <= rewrite as usize);
                        let some = slice.len().min(argument % 4097);
                        slice[..some].fill(seed);
                        pipe.writer().commit(some);
                        model.resize(model.len() + some, seed);
                        seed = seed.wrapping_add(1);
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), StreamErrorKind::TooLarge);
                        assert!(last - first > rewrite as usize);
                    }
                }
            }
            2 | 3 => {
                // Only whole published blocks can be read before the end.
                let there = (model.len() / BLOCK * BLOCK).saturating_sub(read);
                let wanted = (argument % (4 * BLOCK)).min(there);
                if there == 0 {
                    continue;
                }
                let span = (read + wanted.max(1) - 1) / BLOCK - read / BLOCK;
                match pipe.reader().fill(wanted) {
                    Ok(slice) => {
                        assert!(slice.len() >= wanted.max(1) && span <= lookback as usize);
                        assert_eq!(slice, &model[read..read + slice.len()]);
                        let some = slice.len().min(argument % 70_001);
                        pipe.reader().consume(some);
                        read += some;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), StreamErrorKind::TooLarge);
                        assert!(span > lookback as usize);
                    }
                }
            }
            4 if pointers && rewrite > 0 && room > BLOCK => {
                // A pointer writes a stretch, then says how far it came.
                let len = (argument % (2 * BLOCK)).min(room - BLOCK);
                let at = model.len();
                // SAFETY: ascending, within the room that the protocol leaves.
                let write = |to: *mut u8| (at..at + len).for_each(|at| unsafe { to.add(at).write(seed) });
                pipe.writer().scope(write).expect("no failure");
                pipe.writer().advance_to((at + len) as u64).expect("forward");
                model.resize(at + len, seed);
                seed = seed.wrapping_add(3);
            }
            _ if pointers && lookback > 0 => {
                let there = (model.len() / BLOCK * BLOCK).saturating_sub(read);
                let len = (argument % (2 * BLOCK)).min(there);
                // SAFETY: ascending, over published bytes.
                let look = |from: *const u8| (read..read + len).all(|at| unsafe { from.add(at).read() } == model[at]);
                assert!(pipe.reader().scope(look).expect("no failure"));
                pipe.reader().advance_to((read + len) as u64).expect("forward");
                read += len;
            }
            _ => {}
        }
    }
    // Finishing needs a block for the zero byte that follows.
    if (model.len() / BLOCK + 1) * BLOCK <= read / BLOCK * BLOCK + most {
        pipe.writer().finish_at(model.len() as u64).expect("finishes");
        let mut rest = vec![0; model.len() - read + 1];
        assert_eq!(pipe.reader().copy_out(&mut rest).expect("reads on"), model.len() - read);
        assert_eq!(&rest[..model.len() - read], &model[read..]);
    }
});
