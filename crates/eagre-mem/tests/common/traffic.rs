//! Random traffic through one stream, against a model in memory.
//!
//! The writer's program is drawn first, with all that the rules of its windows allow: rewriting inside the window,
//! unaligned lengths, jumps, calls and pointers in turn, blocks completed out of order, a length beyond or before the
//! last byte written. Playing it on an array gives the model: the bytes, and which of them anyone has said. The reader
//! then draws its own accesses as it goes and compares every byte it gets.
//!
//! Bytes nobody has said, in a block that somebody touched, are this stream's own earlier bytes or zero; never another
//! stream's: the pool is filled with [`FOREIGN`] beforehand, which no stream here writes.

mod model;

use self::model::{Model, Step, model};
use super::{Rng, sized};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{Reader, Writer};
use eagre_mem::{BlockSize, Pool, Trap};

/// How an end is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Pointer,
    Calls,
    Blocks,
    Mixed,
}

pub(crate) const WAYS: [Way; 4] = [Way::Pointer, Way::Calls, Way::Blocks, Way::Mixed];

/// What kind of stream, and how it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) rewrite: u32,
    pub(crate) lookback: u32,
    pub(crate) read_ahead: u32,
    pub(crate) block: BlockSize,
    /// How many blocks flow, about.
    pub(crate) blocks: u64,
    pub(crate) sparse: bool,
    pub(crate) recycle: bool,
    pub(crate) length_known: bool,
    pub(crate) writer: Way,
    pub(crate) reader: Way,
    pub(crate) seed: u64,
}

impl Shape {
    pub(crate) fn new(rewrite: u32, lookback: u32, read_ahead: u32, seed: u64) -> Shape {
        let block = BlockSize::MIN;
        let (sparse, recycle, length_known) = (seed.is_multiple_of(3), !seed.is_multiple_of(5), seed.is_multiple_of(2));
        let (writer, reader) = (WAYS[(seed % 4) as usize], WAYS[(seed / 4 % 4) as usize]);
        let blocks = 24;
        Shape { rewrite, lookback, read_ahead, block, blocks, sparse, recycle, length_known, writer, reader, seed }
    }
}

const FOREIGN: u8 = 0xEE;

fn play(writer: &mut Writer, model: &Model) {
    for step in &model.steps {
        match step {
            Step::Put { at, bytes } => {
                // SAFETY: the program was drawn by the rules of the window.
                let put = |to: *mut u8| unsafe {
                    to.add(*at as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                };
                writer.scope(put).unwrap();
            }
            Step::AdvanceTo(at) => writer.advance_to(*at).unwrap(),
            Step::Commit { reserve, bytes } => {
                let room = writer.reserve(*reserve).unwrap();
                assert!(room.len() >= *reserve);
                room[..bytes.len()].copy_from_slice(bytes);
                writer.commit(bytes.len());
            }
            Step::Blocks { fill, order } => {
                let mut taken: Vec<_> = fill.iter().map(|_| Some(writer.take().unwrap())).collect();
                for &which in order {
                    let mut block = taken[which].take().unwrap();
                    block.as_mut_slice().copy_from_slice(&fill[which]);
                    writer.complete(block);
                }
            }
        }
    }
    writer.finish_at(model.length).unwrap();
}

struct Reading<'m> {
    shape: Shape,
    model: &'m Model,
    rng: Rng,
    /// One past the furthest byte looked at.
    end: u64,
    taken: u64,
    floor: u64,
}

impl Reading<'_> {
    fn size(&self) -> u64 {
        self.shape.block.bytes() as u64
    }

    #[track_caller]
    fn compare(&self, at: u64, bytes: &[u8]) {
        let range = at as usize..at as usize + bytes.len();
        if self.model.bytes.get(range) == Some(bytes) {
            return;
        }
        for (i, &byte) in bytes.iter().enumerate() {
            let at = at as usize + i;
            let (right, said) = match at < self.model.bytes.len() {
                true => (self.model.bytes[at], self.model.said[at]),
                false => (0, true),
            };
            assert!(if said { byte == right } else { byte != FOREIGN }, "byte {at} is {byte}, not {right} ({said})");
        }
    }

    fn by_pointer(&mut self, reader: &mut Reader) {
        let (size, length) = (self.size(), self.model.length);
        let back = self.rng.one_in(3);
        let jump = if self.rng.one_in(6) { self.rng.below(3 * size) } else { 0 };
        let furthest = self.taken.saturating_sub(1);
        let lookback = u64::from(self.shape.lookback);
        let at = match back {
            true => self.rng.below(size) + furthest.saturating_sub(lookback).max(self.floor) * size,
            false => self.end + jump,
        };
        let at = at.min(length);
        // The zero byte behind the end is there to be read.
        let until = (at + self.rng.length(2 * size as usize) as u64).min(length + 1);
        let until = until.min((at / size + 1 + lookback) * size);
        let last = (until - 1) / size;
        if at / size < last.max(furthest).saturating_sub(lookback).max(self.floor) {
            return;
        }
        let mut bytes = vec![0; (until - at) as usize];
        // SAFETY: the touch keeps to the rules of the window.
        let get = |from: *const u8| unsafe {
            from.add(at as usize).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
        };
        reader.scope(get).unwrap();
        self.compare(at, &bytes);
        self.taken = self.taken.max(last + 1);
        self.end = self.end.max(until.min(length));
        if self.shape.reader == Way::Mixed {
            // What lies before the position has been given back, window or not.
            reader.advance_to(self.end).unwrap();
            self.floor = self.floor.max(self.end / size);
        }
    }

    fn by_calls(&mut self, reader: &mut Reader) {
        let most = (u64::from(self.shape.lookback) + 1) * self.size() - self.end % self.size();
        let want = self.rng.length(most as usize);
        let got = reader.fill(want).unwrap();
        assert!(got.len() as u64 >= (want as u64).min(self.model.length - self.end));
        self.compare(self.end, got);
        let len = got.len() as u64;
        let consume = self.rng.below(len + 1);
        reader.consume(consume as usize);
        self.taken = self.taken.max((self.end + len.max(1) - 1) / self.size() + 1);
        self.end += consume;
        self.floor = self.floor.max(self.end / self.size());
    }

    fn by_blocks(&mut self, reader: &mut Reader) {
        let start = self.end.next_multiple_of(self.size());
        reader.advance_to(start).unwrap();
        if start > self.end {
            self.end = start.min(self.model.length);
        }
        let mut blocks = Vec::new();
        for _ in 0..=self.rng.below(u64::from(self.shape.lookback) + 1) {
            let Some(block) = reader.take().unwrap() else { break };
            self.compare(block.offset(), block.as_slice());
            self.end = block.offset() + block.as_slice().len() as u64;
            self.taken = self.taken.max(block.offset() / self.size() + 1);
            blocks.push(block);
        }
        while !blocks.is_empty() {
            let which = self.rng.below(blocks.len() as u64) as usize;
            reader.release_block(blocks.swap_remove(which));
        }
        self.floor = self.floor.max(self.end.div_ceil(self.size()));
    }

    fn all(&mut self, reader: &mut Reader) {
        while self.end < self.model.length {
            let way = match self.shape.reader {
                Way::Mixed => WAYS[self.rng.below(3) as usize],
                way => way,
            };
            match way {
                Way::Pointer => self.by_pointer(reader),
                Way::Calls => self.by_calls(reader),
                _ => self.by_blocks(reader),
            }
        }
    }
}

/// Says which traffic it was, if the test fails.
struct Failing(Shape, Pair);

impl Drop for Failing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            super::say(&format!("failing: {}, {:?}", self.1, self.0));
        }
    }
}

fn foul(pool: &Pool, pair: Pair, shape: Shape) {
    let count = shape.rewrite + shape.lookback + shape.read_ahead + 1;
    let mut pipe = sized(pair, shape.block).pool(pool).read_ahead(count).open().unwrap();
    for _ in 0..count {
        pipe.writer().copy_in(&vec![FOREIGN; shape.block.bytes()]).unwrap();
    }
}

/// Sends random traffic through a stream and checks every byte.
pub(crate) fn run(pair: Pair, mut shape: Shape) {
    let calls = |way: Way| if matches!(way, Way::Pointer | Way::Mixed) { Way::Calls } else { way };
    if pair.trap == Trap::Off {
        (shape.writer, shape.reader) = (calls(shape.writer), calls(shape.reader));
    }
    let _failing = Failing(shape, pair);
    let model = model(shape);
    let blocks = shape.rewrite + shape.lookback + shape.read_ahead + 1;
    // More than the stream needs, for the one that fouls them.
    let pool = Pool::new(shape.block, 2 * blocks + 3, Some(pair.trap), Some(pair.mover)).unwrap();
    foul(&pool, pair, shape);
    // The name tells which traffic it was, if a wait report has to.
    let mut builder =
        sized(pair, shape.block).name(&format!("{shape:?}")).pool(&pool).sparse(shape.sparse).recycle(shape.recycle);
    builder = builder.rewrite(shape.rewrite).lookback(shape.lookback).read_ahead(shape.read_ahead);
    builder = builder.capacity(model.length + 4 * shape.block.bytes() as u64);
    if shape.length_known {
        builder = builder.length(model.length);
    }
    let pipe = builder.open().unwrap();
    let control = pipe.control();
    let (mut writer, reader) = pipe.split();
    let model = &model;
    // The ends go with the threads: where one fails, the other learns of it and does not wait for ever.
    std::thread::scope(|scope| {
        scope.spawn(move || play(&mut writer, model));
        let mut reader = reader;
        if shape.length_known {
            assert_eq!(reader.length(), Some(model.length));
        }
        let rng = Rng::new(!shape.seed);
        Reading { shape, model, rng, end: 0, taken: 0, floor: 0 }.all(&mut reader);
        let stats = control.stats();
        assert!(stats.held <= stats.most && stats.most == u64::from(blocks), "{stats:?}");
        // The writer may not have got as far as saying so.
        if reader.position() < model.length {
            reader.advance_to(model.length).unwrap();
        }
        assert!(reader.fill(1).unwrap().is_empty());
        assert_eq!(reader.length(), Some(model.length));
    });
    let left = pool.stats();
    assert_eq!((left.taken, left.committed), (0, 0), "blocks are missing");
}
