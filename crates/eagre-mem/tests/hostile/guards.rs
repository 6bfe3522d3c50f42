//! What lies around the addresses of a stream: a guard that belongs to it, on either side.

use super::frame::{Ends, For, Scenario, skip};
use super::util::*;
use eagre_mem::stream::{Pipe, StreamErrorKind};
use eagre_mem::{BlockSize, GrowingBuffer, Pool, StreamPool};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("guards::read_before_byte_0", For::Pointers, Ends::ByFault, read_before)
        .says(&["eagre: stream guarded: read 4096 bytes before byte 0"]),
    Scenario::new("guards::write_before_byte_0", For::Pointers, Ends::ByFault, write_before)
        .says(&["eagre: stream guarded: write 1 bytes before byte 0"]),
    Scenario::new("guards::far_before_byte_0", For::Pointers, Ends::ByFault, far_before)
        .says(&["eagre: stream guarded: write 1000000000 bytes before byte 0"]),
    Scenario::new("guards::before_a_growing_buffer", For::Pointers, Ends::ByFault, before_growing)
        .says(&["eagre: growing buffer: touched 8 bytes before byte 0"]),
    Scenario::new("guards::before_a_vanishing_array", For::Pointers, Ends::ByFault, before_vanishing)
        .says(&["eagre: vanishing array: touched 8 bytes before its first value"]),
    Scenario::new("guards::behind_a_vanishing_array", For::Pointers, Ends::ByFault, behind_vanishing)
        .says(&["eagre: vanishing array: touched", "bytes past the limit it was made with"]),
    Scenario::new("guards::writer_past_the_capacity", For::Pointers, Ends::Well, past_capacity),
    Scenario::new("guards::reader_past_the_end", For::Pointers, Ends::Well, past_end),
    Scenario::new("guards::limited_addresses", For::Pointers, Ends::Well, limited),
    Scenario::new("guards::past_the_guard", For::Pointers, Ends::By(libc::SIGSEGV), past_guard).says(&[
        "bytes past the capacity of stream guarded",
        "of the writer's pointer, open it with a larger capacity",
    ]),
];

fn read_before() {
    let (_writer, mut reader) = ends("guarded");
    // SAFETY: none: this is the error under test.
    let _ = reader.scope(|from| unsafe { from.sub(4096).read_volatile() });
}

fn write_before() {
    let (mut writer, _reader) = ends("guarded");
    // SAFETY: none: this is the error under test.
    let _ = writer.scope(|to| unsafe { to.sub(1).write_volatile(1) });
}

fn far_before() {
    let (mut writer, _reader) = ends("guarded");
    // SAFETY: none: this is the error under test.
    let _ = writer.scope(|to| unsafe { to.sub(1_000_000_000).write_volatile(1) });
}

fn before_growing() {
    let mut buffer = GrowingBuffer::new(&Pool::shared(BlockSize::DEFAULT).unwrap(), 1 << 30).unwrap();
    // SAFETY: none: this is the error under test.
    let _ = buffer.scope(|start| unsafe { start.sub(8).write_volatile(1) });
}

fn before_vanishing() {
    let mut array = StreamPool::new(16 << 20).unwrap().array::<u64>(1 << 20).unwrap();
    // SAFETY: none: this is the error under test.
    unsafe { array.writer().unwrap().sub(1).write_volatile(1) };
}

fn behind_vanishing() {
    let pool = StreamPool::new(64 << 20).unwrap();
    let mut arrays = pool.buckets::<u64>(2, 1 << 20).unwrap();
    let last = arrays[1].writer().unwrap();
    // SAFETY: the first value of the array; then none: this is the error under test.
    unsafe {
        last.write_volatile(1);
        last.add(20 << 20).write_volatile(1);
    }
}

/// Far past the capacity the code still runs to its end, and the error says how much the stream carries.
fn past_capacity() {
    let (mut writer, _reader) = small("guarded").capacity(1 << 20).rewrite(20).open().unwrap().split();
    // SAFETY: ascending stores; what is past the capacity is lost.
    let write = |to: *mut u8| unsafe { (0..1 << 30).step_by(BLOCK).for_each(|at| to.add(at).write_volatile(7)) };
    let error = writer.scope(write).unwrap_err();
    assert_eq!(error.kind(), StreamErrorKind::CapacityExceeded);
    assert!(error.to_string().contains("1114111 bytes"), "{error}");
    streams_work();
}

fn past_end() {
    let (mut writer, mut reader) = small("guarded").capacity(1 << 20).open().unwrap().split();
    writer.copy_in(&[7; 100]).unwrap();
    writer.finish().unwrap();
    // SAFETY: ascending loads; past the end there are zeros.
    let sum = |from: *const u8| unsafe { (0..1 << 30).step_by(BLOCK).map(|at| from.add(at).read_volatile()).max() };
    assert_eq!(reader.scope(sum).unwrap_err().kind(), StreamErrorKind::PastEnd);
    streams_work();
}

/// Guards are left-overs: where addresses are limited, the default capacity is what it would be without them.
fn limited() {
    super::limits::limit_addresses(1 << 30);
    let pipe = Pipe::open().unwrap();
    assert_eq!(pipe.capacity(), (64 << 20) + (2 << 20) - 1);
    flow_through(Pipe::open().unwrap().split(), 32 << 17);
    let (mut writer, mut reader) = pipe.split();
    let read = std::thread::spawn(move || {
        while let Ok(bytes) = reader.fill(0) {
            let length = bytes.len();
            reader.consume(length);
        }
    });
    // SAFETY: ascending stores; what is past the capacity, by less than the guard of a block, is lost.
    let write = |to: *mut u8| unsafe { (0..67 << 20).step_by(1 << 20).for_each(|at| to.add(at).write_volatile(7)) };
    assert_eq!(writer.scope(write).unwrap_err().kind(), StreamErrorKind::CapacityExceeded);
    read.join().unwrap();
    flow_through(Pipe::open().unwrap().split(), 32 << 17);
}

/// Beyond the guard nothing is promised; what is closest speaks up, and the fault goes on.
fn past_guard() {
    let (mut writer, _reader) = ends("guarded");
    let end = writer.as_mut_ptr().unwrap().as_ptr() as usize + (1 << 30) + BLOCK + (1 << 30);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: closed pages where nothing is mapped yet.
    let is_free = |at: &usize| unsafe {
        libc::mmap(*at as *mut libc::c_void, 4096, libc::PROT_NONE, flags, -1, 0) as usize == *at
    };
    let free = (end..end + (1 << 30)).step_by(16 << 20).find(is_free);
    let Some(free) = free else { skip("all is mapped behind the guard") };
    // SAFETY: none: this is the error under test.
    unsafe { (free as *mut u8).write_volatile(1) };
}
