//! Why memory that moves cannot stay registered: a card knows pages, not addresses. Needs a card, or a machine that plays one:
//! `tools/verbs-guest` runs it, with the card's address in `EAGRE_TEST_VERBS`.
#![cfg(target_os = "linux")]

use eagre_fabric::{Arrival, Calling, Fabric, Memory, Provider, Registering, Waiting};
use eagre_mem::{BlockSize, Mover, Pool, Trap};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BLOCK: usize = 64 << 10;

/// The thesis' objection, and the way around it. Other pages at a registered address: the card sends the old ones. The same pages at
/// another address: it sends what was written there.
#[test]
fn a_card_sends_pages_and_not_addresses() {
    let Some(address) = std::env::var("EAGRE_TEST_VERBS").ok() else {
        eprintln!("skipped: EAGRE_TEST_VERBS names no card's address; tools/verbs-guest does");
        return;
    };
    let fabric = Fabric::open().unwrap();
    let size = BlockSize::new(BLOCK).unwrap();
    let pool = Pool::new(size, 2, Some(Trap::Signal), Some(Mover::Map)).unwrap();
    let fixed = pool.fixed().unwrap();
    let (start, from) = (fixed.start(), Arc::new(Memory::of_pool(fixed)));
    let to = Arc::new(Memory::new(2 * BLOCK).unwrap());
    let soon = || Instant::now() + Duration::from_secs(60);

    let waiting =
        Waiting::open(&fabric, Provider::Verbs, address.parse().unwrap(), to.clone(), Registering::Once, false)
            .unwrap();
    let calling = Calling::open(&fabric, waiting.offer().clone(), from, Registering::Once, false).unwrap();
    let (outlet, inlet) = std::thread::scope(|scope| {
        let outlet = scope.spawn(|| calling.connect(soon(), &|| false));
        let inlet = waiting.accept(&[], false, soon(), &|| false);
        (outlet.join().unwrap().unwrap(), inlet.unwrap())
    });
    let (mut outlet, mut inlet) = (outlet, inlet);

    // Block 0: written, then other pages at its address, and other bytes in them. Block 1: written at a second address of the same
    // pages, where a window of a stream would be.
    // SAFETY: the blocks are ours: no stream uses the pool. What is mapped over block 0 goes with the pool.
    let window = unsafe {
        start.write_bytes(b'o', BLOCK);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let other = libc::mmap(start.cast(), BLOCK, protection, flags | libc::MAP_FIXED, -1, 0);
        assert_eq!(other, start.cast());
        start.write_bytes(b'n', BLOCK);
        let window = libc::mremap(start.add(BLOCK).cast(), 0, BLOCK, libc::MREMAP_MAYMOVE);
        assert_ne!(window, libc::MAP_FAILED);
        window.cast::<u8>().write_bytes(b'w', BLOCK);
        window
    };
    for number in 0..2 {
        let place = number * BLOCK..(number + 1) * BLOCK;
        assert!(inlet.grant(place.clone(), (number * BLOCK) as u64).unwrap());
        while outlet.room().is_none() {
            outlet.look(Duration::from_millis(10)).unwrap();
        }
        outlet.post(place, (number * BLOCK) as u64, None).unwrap();
        let (arrival, range) = loop {
            outlet.look(Duration::ZERO).unwrap();
            if let Some(arrived) = inlet.next(Duration::from_millis(10)).unwrap() {
                break arrived;
            }
        };
        assert!(matches!(arrival, Arrival::Piece { .. }));
        let mut bytes = vec![0; range.len()];
        to.copy_out(range.start, &mut bytes);
        let expected = [b'o', b'w'][number];
        assert!(bytes.iter().all(|&byte| byte == expected), "block {number} arrived as {}", bytes[0] as char);
    }
    // SAFETY: it was mapped above, and nobody uses it.
    unsafe { libc::munmap(window, BLOCK) };
}
