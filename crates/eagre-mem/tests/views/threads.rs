//! Views that threads read, send and drop while the array goes on.

use crate::common::*;
use crate::{BLOCKS, numbers};
use eagre_mem::{View, ViewOptions};
use std::sync::mpsc;

/// Each view shows one round, whatever is written, shared and dropped meanwhile.
#[test]
fn readers_see_what_the_view_was_made_of() {
    let _dog = Watchdog::new("readers_see_what_the_view_was_made_of");
    const READERS: usize = 3;
    for (block, blocks, rounds) in [(BLOCKS[0], 40, 300), (BLOCKS[1], 8, 200), (BLOCKS[2], 3, 20)] {
        let mut array = ViewOptions::new().block(block).limit(2 * blocks).array::<u64>(blocks).unwrap();
        array.extend_from_within(..).unwrap();
        std::thread::scope(|scope| {
            let readers: Vec<mpsc::SyncSender<(View<u64>, Vec<u64>)>> = (0..READERS)
                .map(|_| {
                    let (send, views) = mpsc::sync_channel::<(View<u64>, Vec<u64>)>(2);
                    scope.spawn(move || {
                        let mut held = Vec::new();
                        for (view, shown) in views {
                            assert_eq!(numbers(&view, block), shown);
                            held.push((view, shown));
                            if held.len() > 2 {
                                held.remove(0);
                            }
                            held.iter().for_each(|(view, shown)| assert_eq!(numbers(view, block), *shown));
                        }
                    });
                    send
                })
                .collect();
            let mut rng = Rng::new(block as u64);
            let mut model = vec![0; 2 * blocks];
            for round in 1..=rounds {
                for _ in 0..3 {
                    let number = rng.below(2 * blocks as u64) as usize;
                    model[number] = round / 2;
                    array.write(number..=number).unwrap().fill(round / 2);
                }
                if round % 8 == 0 {
                    array.deduplicate().unwrap();
                }
                let order: Vec<usize> = (0..blocks).map(|_| rng.below(2 * blocks as u64) as usize).collect();
                let shown = order.iter().map(|&number| model[number]).collect();
                readers[round as usize % READERS].send((array.view(&order).unwrap(), shown)).unwrap();
            }
            assert_eq!(numbers(&array, block), model);
        });
        array.deduplicate().unwrap();
        let different: std::collections::HashSet<u64> = numbers(&array, block).into_iter().collect();
        assert_eq!(array.stats().bytes, (different.len() * block) as u64);
    }
}
