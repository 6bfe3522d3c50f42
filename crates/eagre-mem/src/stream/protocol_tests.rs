//! The protocol, model-checked: every reachable state of every window up to 3, from every interleaving.

#![forbid(unsafe_code)]

use super::*;
use crate::trap::End;
use std::collections::{HashMap, HashSet};

/// A whole system: the shared state, and what each end is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct System {
    flow: Flow,
    writer: Program,
    reader: Program,
}

/// What one end is at: a touch it is in the middle of, or the choice of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Program {
    next: u64,
    touching: Option<u64>,
    done: bool,
}

const START: Program = Program { next: 0, touching: None, done: false };
const LENGTH: u64 = 9;

/// When an end gives on what falls out of its window.
#[derive(Clone, Copy, PartialEq)]
enum Giving {
    /// Before it waits: the protocol.
    BeforeWaiting,
    /// Only once it has the next block: what the protocol must not do.
    AfterWaiting,
}

fn touch(giving: Giving, windows: Windows, end: End, flow: &mut Flow, block: u64) -> Touch {
    let before = *flow;
    let touch = match end {
        End::Writer => flow.writer_touches(windows, block),
        End::Reader => flow.reader_touches(windows, block),
    };
    if touch == Touch::Wait && giving == Giving::AfterWaiting {
        *flow = before;
    }
    touch
}

/// Every step one end may take from here: go on with its touch, or choose the next, jumping up to `jump` blocks.
fn steps(giving: Giving, windows: Windows, from: System, end: End, jump: u64, out: &mut Vec<System>) {
    let program = if end == End::Writer { from.writer } else { from.reader };
    let mut push = |program: Program, flow: Flow| {
        let to = match end {
            End::Writer => System { flow, writer: program, ..from },
            End::Reader => System { flow, reader: program, ..from },
        };
        if to != from {
            out.push(to);
        }
    };
    let mut flow = from.flow;
    match program.touching {
        _ if program.done => {}
        None if program.next >= LENGTH => {
            if end == End::Writer {
                flow.finish(LENGTH);
            }
            push(Program { done: true, ..program }, flow);
        }
        None => {
            for block in program.next..=(program.next + jump).min(LENGTH - 1) {
                push(Program { touching: Some(block), ..program }, flow);
            }
        }
        Some(block) => match touch(giving, windows, end, &mut flow, block) {
            Touch::Ready => push(Program { next: block + 1, touching: None, done: false }, flow),
            Touch::Take(taken) => {
                match end {
                    End::Writer => {
                        assert_eq!(taken, flow.taken);
                        flow.writer_took();
                    }
                    End::Reader => {
                        assert_eq!(taken, flow.seen);
                        flow.reader_took();
                    }
                }
                push(program, flow);
            }
            Touch::Wait => push(program, flow),
            other => panic!("{other:?} for the {end} in {from:?}"),
        },
    }
}

fn assert_invariants(windows: Windows, system: &System) {
    let flow = &system.flow;
    assert!(flow.released <= flow.seen && flow.seen <= flow.published && flow.published <= flow.taken, "{system:?}");
    assert!(flow.taken - flow.released <= windows.blocks(), "holds too many: {system:?}");
    assert!(flow.seen - flow.released <= u64::from(windows.lookback) + 1, "reader's window: {system:?}");
    if !system.writer.done {
        assert!(flow.taken - flow.published <= u64::from(windows.rewrite) + 1, "writer's window: {system:?}");
    }
}

/// Walks all reachable states; returns how many there are. Panics if a state that is not the end has no way on.
fn explore(giving: Giving, windows: Windows, jump: u64) -> usize {
    let start = System { flow: Flow::default(), writer: START, reader: START };
    let is_end = |system: &System| system.writer.done && system.reader.done;
    let mut known: HashMap<System, Vec<System>> = HashMap::new();
    let mut todo = vec![start];
    while let Some(system) = todo.pop() {
        if known.contains_key(&system) {
            continue;
        }
        assert_invariants(windows, &system);
        let mut next = Vec::new();
        for end in End::BOTH {
            steps(giving, windows, system, end, jump, &mut next);
        }
        assert!(is_end(&system) || !next.is_empty(), "deadlock with {windows:?} in {system:?}");
        todo.extend(&next);
        known.insert(system, next);
    }
    // Every state reaches the end: walk back from the final ones.
    let mut before: HashMap<System, Vec<System>> = HashMap::new();
    for (from, next) in &known {
        for to in next {
            before.entry(*to).or_default().push(*from);
        }
    }
    let mut live: HashSet<System> = HashSet::new();
    let mut todo: Vec<_> = known.keys().filter(|system| is_end(system)).copied().collect();
    assert!(!todo.is_empty());
    while let Some(system) = todo.pop() {
        if live.insert(system) {
            todo.extend(before.get(&system).into_iter().flatten());
        }
    }
    assert_eq!(live.len(), known.len(), "some state never ends with {windows:?}");
    known.len()
}

fn all_windows() -> impl Iterator<Item = Windows> {
    let most = if cfg!(miri) { 1 } else { 3 };
    (0..=most).flat_map(move |rewrite| {
        (0..=most).flat_map(move |lookback| {
            (1..=most.max(1)).map(move |read_ahead| Windows { rewrite, lookback, read_ahead })
        })
    })
}

#[test]
fn no_interleaving_deadlocks() {
    for windows in all_windows() {
        for jump in if cfg!(miri) { 0..1 } else { 0..3 } {
            assert!(explore(Giving::BeforeWaiting, windows, jump) > 20);
        }
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn giving_on_only_after_waiting_would_deadlock() {
    explore(Giving::AfterWaiting, Windows { rewrite: 1, lookback: 1, read_ahead: 1 }, 0);
}

#[test]
fn windows_end_where_they_should() {
    for windows in all_windows() {
        let mut flow = Flow::default();
        let mut touch = |block| loop {
            match flow.writer_touches(windows, block) {
                Touch::Take(_) => flow.writer_took(),
                other => break (other, flow.published),
            }
        };
        let last = windows.blocks() - 1;
        assert_eq!(touch(last).0, Touch::Ready);
        let oldest = last - u64::from(windows.rewrite);
        assert_eq!(touch(oldest).0, Touch::Ready);
        if oldest > 0 {
            assert_eq!(touch(oldest - 1).0, Touch::Behind);
        }
        assert_eq!(touch(last + 1), (Touch::Wait, oldest + 1), "waits only after publishing");
    }
}

#[test]
fn the_reader_learns_of_the_end() {
    let windows = Windows { rewrite: 1, lookback: 1, read_ahead: 1 };
    let mut flow = Flow::default();
    assert_eq!(flow.reader_touches(windows, 0), Touch::Wait);
    assert_eq!(flow.writer_touches(windows, 0), Touch::Take(0));
    flow.writer_took();
    flow.finish(1);
    assert_eq!(flow.reader_touches(windows, 0), Touch::Take(0));
    flow.reader_took();
    assert_eq!(flow.reader_touches(windows, 0), Touch::Ready);
    assert_eq!(flow.reader_touches(windows, 1), Touch::PastEnd);
}

#[test]
fn completion_in_any_order_gives_on_in_order() {
    // All orders of five blocks, against the obvious definition.
    let mut orders = vec![vec![]];
    for _ in 0..5 {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<u64>| {
                (0..5).filter(|b| !order.contains(b)).map(|b| [order.clone(), vec![b]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    for order in orders {
        let mut completion = Completion::starting_at(100);
        (0..5).for_each(|_| completion.handed_out());
        let mut done = HashSet::new();
        for block in order {
            done.insert(block);
            let prefix = (0..).take_while(|b| done.contains(b)).count() as u64;
            assert_eq!(completion.finished(100 + block), 100 + prefix);
            assert_eq!(completion.span(), 5 - prefix);
        }
    }
}

#[test]
fn a_full_mask_of_sixty_four() {
    let mut completion = Completion::starting_at(0);
    (0..64).for_each(|_| completion.handed_out());
    (1..64).for_each(|block| assert_eq!(completion.finished(block), 0));
    assert_eq!(completion.finished(0), 64);
}
