#![forbid(unsafe_code)]
use super::*;
use crate::stream::{Pipe, ReadBlock, Reader, StreamErrorKind, WriteBlock, Writer};
use crate::units::BlockSize;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

const BLOCK: usize = BlockSize::MIN.bytes();

/// A file in memory that answers the newest request first, and only half of it.
struct Memory {
    bytes: Arc<Mutex<Vec<u8>>>,
    held: Vec<Request>,
}

impl Device for Memory {
    fn depth(&self) -> usize {
        3
    }

    fn submit(&mut self, request: Request) {
        self.held.push(request);
    }

    fn wait(&mut self, least: usize, done: &mut Vec<Done>) -> io::Result<()> {
        let mut file = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..least {
            let request = self.held.pop().expect("asked for more than there is");
            let half = request.len().div_ceil(2);
            let mut request = request.at_most(half);
            let from = (request.offset() as usize).min(file.len());
            let result = match request.direction() {
                Direction::Read => {
                    let there = request.len().min(file.len() - from);
                    request.bytes_mut()[..there].copy_from_slice(&file[from..][..there]);
                    Ok(there)
                }
                Direction::Write => {
                    let until = request.offset() as usize + request.len();
                    let size = file.len().max(until);
                    file.resize(size, 0xAA);
                    file[request.offset() as usize..until].copy_from_slice(request.bytes());
                    Ok(request.len())
                }
            };
            done.push(Done { request, result });
        }
        Ok(())
    }
}

fn stream() -> (Writer, Reader) {
    Pipe::builder().block_size(BlockSize::MIN).open().unwrap().split()
}

fn memory(bytes: Vec<u8>) -> (Arc<Mutex<Vec<u8>>>, Box<Memory>) {
    let bytes = Arc::new(Mutex::new(bytes));
    (bytes.clone(), Box::new(Memory { bytes, held: Vec::new() }))
}

#[test]
fn blocks_come_back_full_and_in_order() {
    let (mut writer, mut reader) = stream();
    let bytes: Vec<u8> = (0..2 * BLOCK + 100).map(|at| (at % 251) as u8).collect();
    let (_, device) = memory(bytes.clone());
    let mut transfer = Transfer::<WriteBlock>::new(device, 20_000);
    for at in 0..2 {
        transfer.begin(writer.take().unwrap(), (at * BLOCK) as u64, BLOCK);
    }
    assert_eq!(writer.take().unwrap_err().kind(), StreamErrorKind::Busy);
    for at in 0..2 {
        let full = transfer.finish(|| true).unwrap().unwrap();
        assert_eq!((full.offset, full.bytes), ((at * BLOCK) as u64, BLOCK));
        writer.complete(full.block);
    }
    assert!(transfer.finish(|| true).unwrap().is_none());
    // Both blocks are published: there is room for the last, which ends inside.
    transfer.begin(writer.try_take().unwrap().unwrap(), 2 * BLOCK as u64, BLOCK);
    let last = transfer.finish(|| true).unwrap().unwrap();
    assert_eq!((last.wanted, last.bytes), (BLOCK, 100));
    writer.put_back(last.block);
    writer.finish_at(bytes.len() as u64).unwrap();
    let mut got = vec![0; bytes.len() + 1];
    assert_eq!(reader.copy_out(&mut got).unwrap(), bytes.len());
    assert!(got[..bytes.len()] == bytes);
}

#[test]
fn what_is_written_is_what_was_in_the_blocks() {
    let (mut writer, mut reader) = stream();
    let bytes: Vec<u8> = (0..BLOCK + 3000).map(|at| (at % 241) as u8).collect();
    writer.copy_in(&bytes).unwrap();
    writer.finish().unwrap();
    let (file, device) = memory(Vec::new());
    let mut transfer = Transfer::<ReadBlock>::new(device, 16 << 10);
    for _ in 0..2 {
        let block = reader.take().unwrap().unwrap();
        let (offset, len) = (block.offset(), block.as_slice().len());
        transfer.begin(block, offset, len);
    }
    while let Some(written) = transfer.finish(|| true).unwrap() {
        reader.release_block(written.block);
    }
    assert!(reader.take().unwrap().is_none());
    assert_eq!(reader.position(), bytes.len() as u64);
    assert!(*file.lock().unwrap() == bytes);
}

#[test]
#[should_panic(expected = "a block taken later is still out")]
fn blocks_are_put_back_last_first() {
    let (mut writer, _reader) = stream();
    let first = writer.take().unwrap();
    let _second = writer.take().unwrap();
    writer.put_back(first);
}

#[test]
#[should_panic(expected = "the bytes to write do not change")]
fn what_is_to_be_written_does_not_change() {
    let (mut writer, mut reader) = stream();
    writer.copy_in(&vec![1; BLOCK]).unwrap();
    writer.finish().unwrap();
    let block = Arc::new(reader.take().unwrap().unwrap());
    Request::new(&block, 0, 0, 10, 0).bytes_mut();
}

/// The memory is the kernel's until the request is done, whatever becomes of the ring.
#[test]
fn a_ring_that_is_dropped_waits_for_what_is_in_flight() {
    let (read, mut write) = io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(read));
    let mut ring = match Uring::new(file, 4, 1) {
        Ok(ring) => ring,
        Err(error) => return eprintln!("skipped: io_uring: {error}"),
    };
    let (mut writer, _reader) = stream();
    let mut block = Arc::new(writer.take().unwrap());
    ring.submit(Request::new(&block, 0, 0, 5, 0));
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            written.store(true, SeqCst);
            io::Write::write_all(&mut write, b"bytes").unwrap();
        });
        drop(ring);
        assert!(written.load(SeqCst), "nobody waited");
    });
    let block = Arc::get_mut(&mut block).expect("the ring's share is gone");
    assert_eq!(&block.as_mut_slice()[..5], b"bytes");
}
