//! Invariant 4: after `finish(len)` the rest of the last page is zero, and at least one zero byte follows.
//!
//! Blocks are full of other bytes beforehand: they come back from an earlier stream, and from earlier in this one.

use crate::common::{SMALL, check_through, put_through, small};
use eagre_mem::stream::{Reader, Writer};
use eagre_mem::{Pool, Trap};

const PAGE: u64 = 4096;

fn lengths() -> Vec<u64> {
    let block = SMALL as u64;
    vec![0, 1, 7, PAGE - 1, PAGE, PAGE + 1, block - 1, block, block + 1, 5 * block - 9, 5 * block, 9 * block + 4097]
}

fn write(writer: &mut Writer, length: u64, pointer: bool) {
    if pointer {
        // SAFETY: ascending copies shorter than the window.
        writer.scope(|to| unsafe { put_through(to, 0, length, 4000) }).unwrap();
        return writer.finish_at(length).unwrap();
    }
    while writer.position() < length {
        let at = writer.position();
        let room = writer.reserve(0).unwrap();
        // All that is reserved gets bytes; less is committed.
        crate::common::put(at, room);
        let now = (room.len() as u64).min(length - at) as usize;
        writer.commit(now);
    }
    writer.finish().unwrap();
}

fn read_and_look_behind(reader: &mut Reader, length: u64) {
    let end = reader.scope(|from| {
        // SAFETY: ascending reads, up to the page in which the zero byte follows.
        unsafe {
            check_through(from, 0, length, 4000);
            let page = length / PAGE * PAGE + PAGE;
            std::slice::from_raw_parts(from.add(length as usize), (page - length) as usize).to_vec()
        }
    });
    let end = end.unwrap();
    assert!(!end.is_empty() && end.iter().all(|&byte| byte == 0), "not zero behind {length}");
}

each_pair! {
    fn invariant_4_zeros_follow_the_end(pair) {
        let pool = Pool::new(eagre_mem::BlockSize::MIN, 6, Some(pair.trap), Some(pair.mover)).unwrap();
        for length in lengths() {
            for writes in [true, false] {
                let pointer = pair.trap != Trap::Off;
                let (mut writer, mut reader) = small(pair).pool(&pool).open().unwrap().split();
                std::thread::scope(|scope| {
                    scope.spawn(|| write(&mut writer, length, writes && pointer));
                    if pointer {
                        read_and_look_behind(&mut reader, length);
                    } else {
                        let mut all = vec![1; length as usize + 100];
                        assert_eq!(reader.copy_out(&mut all).unwrap() as u64, length);
                        crate::common::check(0, &all[..length as usize]);
                    }
                });
                assert_eq!(reader.length(), Some(length));
            }
        }
    }
}

each_pointer_pair! {
    /// A C string function stops by itself.
    fn invariant_4_strlen_ends(pair) {
        for length in lengths() {
            let (mut writer, mut reader) = small(pair).open().unwrap().split();
            std::thread::scope(|scope| {
                scope.spawn(|| write(&mut writer, length, true));
                // SAFETY: the bytes are not zero, and a zero follows them.
                let found = reader.scope(|from| unsafe { libc::strlen(from.cast()) }).unwrap();
                assert_eq!(found as u64, length);
            });
        }
    }
}
