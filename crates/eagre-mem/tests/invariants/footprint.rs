//! Invariant 1: a stream holds at most `N + L + M + 1` blocks; page tables, mappings and memory stay bounded however
//! much flows through it.
//!
//! Measured in a process of its own. Every page is touched, with one word; the words are checked, too. In a debug
//! build little flows; `EAGRE_LONG=1` sends 1 TiB.

use crate::common::child::{self, Case, report};
use crate::common::process::Footprint;
use crate::common::{say, sized};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{Control, Reader, Writer};
use eagre_mem::{BlockSize, Trap};

pub(crate) const CASES: &[Case] = &[("huge_pages", huge_pages), ("small_pages", small_pages)];

const PAGE: u64 = 4096;
const RESERVATION: u64 = 1 << 40;

each_pair! {
    fn invariant_1_huge_blocks(pair) {
        if !long() {
            say(&format!("skipped: {pair}: a flow of 1 TiB: set EAGRE_LONG=1"));
        }
        expect_flat("huge_pages", pair);
    }
    fn invariant_1_small_blocks(pair) {
        expect_flat("small_pages", pair);
    }
}

fn expect_flat(case: &str, pair: Pair) {
    let outcome = child::run(case, pair);
    assert!(outcome.success, "{pair}: {}\n{:?}", outcome.stderr, outcome.reports);
    outcome.reports.iter().for_each(|line| say(&format!("{pair}: {line}")));
}

fn long() -> bool {
    std::env::var_os("EAGRE_LONG").is_some()
}

fn huge_pages(pair: Pair) {
    let gib = match (long(), cfg!(debug_assertions)) {
        (true, _) => 1024,
        (_, true) => 3,
        _ => 16,
    };
    flow(pair, BlockSize::DEFAULT, gib << 30);
}

/// Blocks of 4 KiB pages need real page tables, which must be freed behind the window.
fn small_pages(pair: Pair) {
    flow(pair, BlockSize::MIN, 4 << 30);
}

fn flow(pair: Pair, block: BlockSize, length: u64) {
    let pipe = sized(pair, block).capacity(RESERVATION).open().unwrap();
    let control = pipe.control();
    let (mut writer, mut reader) = pipe.split();
    // Everything that is there once and for all is there now: threads, their stacks, both ends' first blocks.
    let before = Footprint::now();
    let worst = std::thread::scope(|scope| {
        scope.spawn(move || {
            write_words(pair, &mut writer, length);
            writer.finish_at(length).unwrap();
        });
        read_words(pair, &mut reader, length, &control)
    });
    let most = (control.stats().most * block.bytes() as u64) >> 10;
    report(&format!("{} GiB in blocks of {block}: {before:?}, at most {worst:?}", length >> 30));
    assert!(worst.rss + worst.shared <= before.rss + before.shared + most + (4 << 10), "memory grows");
    // 1 GiB may lie behind each end before its tables are freed: 2 MiB each.
    assert!(worst.tables <= before.tables + (6 << 10), "page tables grow");
    assert!(worst.mappings <= before.mappings + 40, "mappings grow");
    assert_eq!(worst.descriptors, before.descriptors, "descriptors grow");
}

fn write_words(pair: Pair, writer: &mut Writer, length: u64) {
    if pair.trap != Trap::Off {
        let words = |to: *mut u8| {
            // SAFETY: ascending stores within the capacity.
            (0..length).step_by(PAGE as usize).for_each(|at| unsafe { to.add(at as usize).cast::<u64>().write(at) });
        };
        return writer.scope(words).unwrap();
    }
    while writer.position() < length {
        let at = writer.position();
        let room = writer.reserve(0).unwrap();
        let pages = room.chunks_exact_mut(PAGE as usize).zip((at..).step_by(PAGE as usize));
        pages.for_each(|(page, at)| page[..8].copy_from_slice(&at.to_ne_bytes()));
        let len = room.len();
        writer.commit(len);
    }
}

fn read_words(pair: Pair, reader: &mut Reader, length: u64, control: &Control) -> Footprint {
    let mut worst = Footprint::now();
    let mut look = |at: u64| {
        if at.is_multiple_of(64 << 20) {
            worst = worst.max(Footprint::now());
            let stats = control.stats();
            assert!(stats.held <= stats.most, "{stats:?}");
        }
    };
    if pair.trap != Trap::Off {
        let words = |from: *const u8| {
            for at in (0..length).step_by(PAGE as usize) {
                // SAFETY: ascending loads within the length.
                assert_eq!(unsafe { from.add(at as usize).cast::<u64>().read() }, at);
                look(at);
            }
        };
        reader.scope(words).unwrap();
        return worst;
    }
    while reader.position() < length {
        let at = reader.position();
        let there = reader.fill(0).unwrap();
        let pages = there.chunks_exact(PAGE as usize).zip((at..).step_by(PAGE as usize));
        pages.for_each(|(page, at)| assert_eq!(page[..8], at.to_ne_bytes()));
        let len = there.len();
        reader.consume(len);
        look(at);
    }
    worst
}
