//! Invariant 2: a reader never sees a byte before its block was published, and never sees it change.
//!
//! The writer first puts a draft into every block and the real bytes only when the block is about to leave its window;
//! the reader must never meet a draft. It looks at every block twice, the second time just before it leaves the
//! lookback, when the writer has long had reason to want the memory back.

use crate::common::{SMALL, check, check_through, pattern, put_through, sized, small};
use eagre_mem::{BlockSize, Trap};

const BLOCKS: u64 = 60;
const DRAFT: u8 = 0;

each_pointer_pair! {
    fn invariant_2_by_pointer(pair) {
        for (l, m, n) in [(0, 0, 1), (1, 1, 1), (2, 0, 1), (0, 2, 2), (3, 3, 3), (1, 2, 1)] {
            let windows = |builder: eagre_mem::stream::PipeBuilder| builder.rewrite(l).lookback(m).read_ahead(n);
            let (mut writer, mut reader) = windows(small(pair)).open().unwrap().split();
            let block = SMALL as u64;
            std::thread::scope(move |scope| {
                scope.spawn(move || {
                    let write = |to: *mut u8| {
                        for number in 0..BLOCKS {
                            // SAFETY: block `number` is the next, and `number - l` is the oldest in the window.
                            unsafe {
                                to.add((number * block) as usize).write_bytes(DRAFT, SMALL);
                                if let Some(oldest) = number.checked_sub(u64::from(l)) {
                                    put_through(to, oldest * block, (oldest + 1) * block, 4096);
                                }
                            }
                        }
                        // SAFETY: the last `l` blocks are all in the window.
                        unsafe { put_through(to, (BLOCKS - u64::from(l)) * block, BLOCKS * block, 4096) };
                    };
                    writer.scope(write).unwrap();
                    writer.finish_at(BLOCKS * block).unwrap();
                });
                let read = |from: *const u8| {
                    for number in 0..BLOCKS {
                        // SAFETY: as in the writer.
                        unsafe {
                            check_through(from, number * block, (number + 1) * block, 4096);
                            if let Some(oldest) = number.checked_sub(u64::from(m)) {
                                check_through(from, oldest * block, (oldest + 1) * block, 4096);
                            }
                        }
                    }
                };
                reader.scope(read).unwrap();
                reader.advance_to(BLOCKS * block).unwrap();
                assert!(reader.fill(1).unwrap().is_empty());
            });
        }
    }
}

each_pair! {
    /// Drafts in the explicit interface are bytes reserved and not yet committed.
    fn invariant_2_by_calls(pair) {
        let (mut writer, mut reader) = small(pair).rewrite(2).lookback(2).open().unwrap().split();
        let length = BLOCKS * SMALL as u64;
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                while writer.position() < length {
                    let at = writer.position();
                    let len = (2 * SMALL).min((length - at) as usize);
                    writer.reserve(len).unwrap()[..len].fill(DRAFT);
                    // Changed its mind: nothing of this may arrive.
                    writer.commit(0);
                    let real = pattern(at, SMALL / 2 + 13).len().min(len);
                    writer.reserve(len).unwrap()[..real].copy_from_slice(&pattern(at, real)[..real]);
                    writer.commit(real);
                }
                writer.finish().unwrap();
            });
            while reader.position() < length {
                let at = reader.position();
                let bytes = reader.fill(2 * SMALL).unwrap();
                check(at, bytes);
                std::thread::yield_now();
                check(at, bytes);
                let half = bytes.len().div_ceil(2);
                reader.consume(half);
            }
            assert!(reader.fill(1).unwrap().is_empty());
        });
    }

    /// The same for blocks that are out with several threads at once.
    fn invariant_2_by_blocks(pair) {
        let block = if pair.trap == Trap::Off { BlockSize::MIN } else { BlockSize::DEFAULT };
        let (mut writer, mut reader) = sized(pair, block).rewrite(2).lookback(2).open().unwrap().split();
        let (count, bytes) = (24u64, block.bytes());
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                for _ in 0..count / 3 {
                    let mut taken: Vec<_> = (0..3).map(|_| writer.take().unwrap()).collect();
                    taken.iter_mut().for_each(|block| block.as_mut_slice()[..4096].fill(DRAFT));
                    for mut block in taken.into_iter().rev() {
                        let offset = block.offset();
                        crate::common::put(offset, block.as_mut_slice());
                        writer.complete(block);
                    }
                }
                writer.finish().unwrap();
            });
            for _ in 0..count / 3 {
                let taken: Vec<_> = (0..3).map(|_| reader.take().unwrap().unwrap()).collect();
                for _ in 0..2 {
                    taken.iter().for_each(|block| check(block.offset(), block.as_slice()));
                }
                let mut taken = taken;
                taken.swap(0, 1);
                for block in taken {
                    assert_eq!(block.as_slice().len(), bytes);
                    reader.release_block(block);
                }
            }
            assert!(reader.take().unwrap().is_none());
        });
    }
}
