// Eagre: one plain pointer to data larger than memory.
//
// A stream has a writer and a reader, usually in two threads. Each gets a plain pointer to byte 0 of the stream; what
// the writer stores there the reader finds at its own pointer, and page faults move a few blocks of memory along
// underneath. Unmodified code works on the pointers. Explicit calls (reserve and commit, fill and consume, copy_in and
// copy_out) do the same without faults.
//
// Beside streams there are arrays in memory: eagre_sort, eagre_argsort and eagre_partition for those of the caller, and an
// EagreVector, which grows without copying. eagre_sort_file sorts files of any size, eagre_sort_stream a stream into a stream.
//
//     cc program.c $(pkg-config --cflags --libs eagre)
//
// Units: sizes, lengths and offsets are bytes, windows (rewrite, lookback, read_ahead) are blocks, times nanoseconds.
//
// Errors: functions return an EagreStatus, EAGRE_OK being 0, or a pointer that is null on failure. eagre_last_error()
// then has one line with the stream, the reason and the cure. A null pointer where none is allowed is EAGRE_INVALID
// and does no harm. Nothing aborts the process except a touch outside a pointer's window, which is reported first, and memory
// that is refused to streams between hosts.
//
// Memory: the library owns what it gives out. Each handle has a function that frees it (..._close, or for blocks
// complete, release and abandon), which takes a null pointer too. Strings passed in are copied.
//
// Threads: a writer, reader or block is used by one thread at a time. An EagreControl and an EagrePool may be used by
// several at once. Messages are kept for each thread.
//
// Structs: the ones passed in start with their size and version, the ones filled in come with their sizeof, so that
// programs go on working with later libraries.

#ifndef EAGRE_H
#define EAGRE_H

// Generated from crates/capi: UPDATE=1 cargo test -p eagre-capi --test header. Do not edit.

#include <stddef.h>
#include <stdint.h>

// The version of EagreOptions in this header.
#define EAGRE_OPTIONS_VERSION 1

// A length that is not known.
#define EAGRE_UNKNOWN UINT64_MAX

// EagreOptions.flags: every block is new memory from the system, given back behind the reader. Slow; for comparisons.
#define EAGRE_FRESH 1

// EagreOptions.flags: bytes that the writer leaves out inside a block it touches read as zero. Without it only whole
// blocks that are left out do.
#define EAGRE_SPARSE 2

// EagreOptions.flags: after the stream has failed, touching its pointer is an error (a signal; EFAULT from a system
// call). Without it the pointer gets throw-away pages, and the code on it runs to its end.
#define EAGRE_POISON 4

// EagreOptions.flags, for eagre_open_source: the callback is asked only for blocks the reader has touched, not ahead.
#define EAGRE_ON_DEMAND 8

// EagreOptions.flags: pointers are needed. Where no trap works that gives them, opening fails with EAGRE_UNAVAILABLE.
// Without it the stream opens for explicit calls, and its pointers are null. For code that does not look.
#define EAGRE_POINTERS 16

// The version of EagreStats in this header.
#define EAGRE_STATS_VERSION 2

// The version of EagreNetworkOptions in this header.
#define EAGRE_NETWORK_OPTIONS_VERSION 1

// EagreNetworkOptions.flags: plain TCP to and from everybody, where no key is given. Whoever is on the way can read and change
// what flows; whoever can reach the port can send or receive.
#define EAGRE_INSECURE_PLAIN 1

// The version of EagreSortOptions in this header.
#define EAGRE_SORT_OPTIONS_VERSION 1

// EagreSortOptions.slack: 64 MiB, or an eighth of the keys' own memory if that is more.
#define EAGRE_SLACK_DEFAULT UINT64_MAX

// EagreSortOptions.flags: pairs are ordered by their first part only, and those that agree in it stay in the order they
// were in.
#define EAGRE_STABLE 1

// EagreSortOptions.flags: the largest key comes first. With EAGRE_STABLE, and in eagre_argsort, equal keys stay in the order
// they are in.
#define EAGRE_SORT_DESCENDING 2

// EagreSortOptions.flags: NaN comes behind all numbers, in ascending and in descending order, and -0 equals 0, as in NumPy and
// databases. Without it, floating-point numbers are in their total order. For other keys it says nothing.
#define EAGRE_NAN_LAST 4

// The version of EagrePartitionOptions in this header.
#define EAGRE_PARTITION_OPTIONS_VERSION 1

// EagrePartitionOptions.flags: the buckets lie in one array, each behind the one before.
#define EAGRE_DENSE 1

// The version of EagreFormat in this header.
#define EAGRE_FORMAT_VERSION 1

// EagreFormat.flags: the largest key comes first. Records with equal keys stay in the order of the input. For EAGRE_RECORDS_TEXT it is
// -r of GNU sort: a key with letters of its own is not reversed, unless an r is among them.
#define EAGRE_DESCENDING 1

// EagreFormat.flags, for EAGRE_RECORDS_KLV: the most significant byte of a length comes first.
#define EAGRE_BIG_ENDIAN 2

// EagreFormat.flags, for EAGRE_RECORDS_TEXT: fields may be in double quotes (RFC 4180), which may hold separators, newlines and
// doubled quotes. A comma separates them unless separator says otherwise. A key is the text without its quotes.
#define EAGRE_TEXT_CSV 4

// EagreFormat.flags, for EAGRE_RECORDS_TEXT: lines with equal keys stay in the order of the input, as with sort -s. Without it all
// their bytes decide.
#define EAGRE_TEXT_STABLE 8

// EagreFormat.flags, for EAGRE_RECORDS_FIXED: NaN of floating-point keys come behind all their numbers, in ascending and in
// descending order; then NaN equals NaN, and -0 equals 0. Without it they are in their total order, as with eagre_sort.
#define EAGRE_FIXED_NAN_LAST 16

// The version of EagreFileSortOptions in this header.
#define EAGRE_FILE_SORT_OPTIONS_VERSION 1

// EagreFileSortOptions.flags: of records with equal keys, only the first is written.
#define EAGRE_UNIQUE 1

// EagreFileSortOptions.flags: the output is read back from the device before it appears, and compared with the input.
// Not for streams.
#define EAGRE_VERIFY 2

// EagreFileSortOptions.flags: temporary files are compressed (lz4), so that they take less room, and less time on a slow disk.
// Each block has a checksum. Whether there is room for them is not checked before.
#define EAGRE_COMPRESS_RUNS 4

// The version of EagreGatherOptions in this header.
#define EAGRE_GATHER_OPTIONS_VERSION 1

// EagreGatherOptions.flags: the data may be a copy of what was indexed. Then the time of their last change does not count,
// only their size.
#define EAGRE_COPIED 1

// What to count: newlines.
#define EAGRE_LINES 1

// What to count: words, as wc counts them in the C locale: parted by white space, with a visible character of ASCII.
#define EAGRE_WORDS 2

// What to count: the columns of the longest line, as wc -L measures it in the C locale.
#define EAGRE_LONGEST 4

// Flags of eagre_finder_open: capital and small letters of ASCII are the same.
#define EAGRE_IGNORE_CASE 1

// How a call ended. 0 is success. A later version of the library may add to them.
typedef enum EagreStatus {
    // Success.
    EAGRE_OK = 0,
    // The writer said that it failed, with a message, or its callback did.
    EAGRE_WRITER_FAILED = 1,
    // The writer was closed before it finished, or its process has ended.
    EAGRE_WRITER_GONE = 2,
    // The reader was closed, its callback failed, or its process has ended, before the end of the stream.
    EAGRE_READER_GONE = 3,
    // The stream was cancelled, or the sort was.
    EAGRE_CANCELLED = 4,
    // One end waited for the other longer than the stream's time limit; or nobody called a listener within its limit.
    EAGRE_TIMED_OUT = 5,
    // Both ends belong to one handle, and one of them would wait for the other for ever.
    EAGRE_DEADLOCK = 6,
    // The reader touched bytes after the end of the stream.
    EAGRE_PAST_END = 7,
    // The writer went past the stream's capacity.
    EAGRE_CAPACITY_EXCEEDED = 8,
    // The pool's budget, or the machine's memory, is used up.
    EAGRE_OUT_OF_BLOCKS = 9,
    // A block the reader needs is pinned by I/O that does not end (O_DIRECT, io_uring, RDMA on a stream pointer), or a block
    // was locked (mlock) after the stream was opened.
    EAGRE_PINNED = 10,
    // This stream has no pointers: its trap is off.
    EAGRE_NO_POINTER = 11,
    // A length that contradicts what was published or announced; finishing twice.
    EAGRE_INVALID_LENGTH = 12,
    // More contiguous bytes than the window holds; or bytes that the window has left behind, because a pointer has moved ahead of
    // the position.
    EAGRE_TOO_LARGE = 13,
    // Blocks taken from this end are still out.
    EAGRE_BUSY = 14,
    // The operating system refused something.
    EAGRE_SYSTEM = 15,
    // This is a forked child, and the stream was opened in its parent.
    EAGRE_FORKED = 16,
    // Both ends are gone; between processes, this one's.
    EAGRE_CLOSED = 17,
    // An argument is wrong: a null pointer, a number out of range. Nothing was done.
    EAGRE_INVALID = 64,
    // A setting is out of range, or the environment holds a value that cannot be read.
    EAGRE_SETTING = 65,
    // The trap and mover asked for do not work together, or not on this machine. Or the library was built without what is asked for. Or
    // there is no other process: nobody listens, or it is gone.
    EAGRE_UNAVAILABLE = 66,
    // The address space, the table of streams, memory, threads, sockets or ports are used up or refused.
    EAGRE_RESOURCES = 67,
    // A struct of a size or version that this library does not know.
    EAGRE_WRONG_VERSION = 68,
    // The data are not what their format says: they end inside a record. Or what was written does not verify.
    EAGRE_MALFORMED = 70,
    // A bug in Eagre, stopped before it reached the caller. Please report it. The handle can only be closed.
    EAGRE_PANIC = 69,
    // A stream between hosts: nobody answers, the two sides do not trust each other or the other one does not want the stream, the
    // connection was lost, or the program there stopped or gave up.
    EAGRE_NETWORK = 71,
} EagreStatus;

// How a touch of a stream pointer is noticed.
typedef enum EagreTrap {
    // What EAGRE_TRAP in the environment says, or the best that works here.
    EAGRE_TRAP_DEFAULT = 0,
    // Privileged userfaultfd: faults of user code and of copying system calls.
    EAGRE_TRAP_PAGER = 1,
    // SIGSEGV: faults of user code. System calls on absent pages get EFAULT.
    EAGRE_TRAP_SIGNAL = 2,
    // No faults and no pointers: reserve and commit, fill and consume.
    EAGRE_TRAP_OFF = 3,
} EagreTrap;

// How a block changes its address.
typedef enum EagreMover {
    // What EAGRE_MOVER in the environment says, or the best that works with the trap.
    EAGRE_MOVER_DEFAULT = 0,
    // UFFDIO_MOVE.
    EAGRE_MOVER_MOVE = 1,
    // mremap.
    EAGRE_MOVER_REMAP = 2,
    // Copying; only without faults.
    EAGRE_MOVER_COPY = 3,
    // Mapping shared memory; streams only. Faster, but what a late touch behind the window does may go unnoticed for some blocks.
    EAGRE_MOVER_MAP = 4,
} EagreMover;

// What is sorted: numbers of the machine, and pairs of them, which are structs of two. Pairs are ordered by their first
// part, then by their second. Floating-point numbers are in their total order: -NaN, -infinity, negative numbers, -0, 0,
// positive numbers, infinity, NaN.
typedef enum EagreKey {
    // uint32_t.
    EAGRE_KEY_U32 = 1,
    // int32_t.
    EAGRE_KEY_I32 = 2,
    // float.
    EAGRE_KEY_F32 = 3,
    // uint64_t.
    EAGRE_KEY_U64 = 4,
    // int64_t.
    EAGRE_KEY_I64 = 5,
    // double.
    EAGRE_KEY_F64 = 6,
    // unsigned __int128, at a multiple of 16.
    EAGRE_KEY_U128 = 7,
    // __int128, at a multiple of 16.
    EAGRE_KEY_I128 = 8,
    // Two of uint32_t.
    EAGRE_KEY_U32U32 = 9,
    // Two of uint64_t.
    EAGRE_KEY_U64U64 = 10,
} EagreKey;

// What records are.
typedef enum EagreRecords {
    // Lines, ended by terminator. The key is the line without it.
    EAGRE_RECORDS_LINES = 1,
    // Records of record_size bytes, with the keys that keys names.
    EAGRE_RECORDS_FIXED = 2,
    // A key of key_size bytes, the length of the value as a number of length_size bytes, the value.
    EAGRE_RECORDS_KLV = 3,
    // Lines, ended by terminator, in the orders of LC_ALL=C sort of GNU: text_keys, text_options and separator.
    EAGRE_RECORDS_TEXT = 4,
} EagreRecords;

// How to sort a file.
typedef enum EagrePlan {
    // What is expected to be the fastest.
    EAGRE_PLAN_AUTO = 0,
    // All records are read into memory and sorted there.
    EAGRE_PLAN_IN_MEMORY = 1,
    // Keys and pointers are sorted in memory; then records are fetched from the input.
    EAGRE_PLAN_ONE_PASS = 2,
    // Keys and pointers are sorted in runs, and these merged; then records are fetched from the input.
    EAGRE_PLAN_MERGE_PASS = 3,
    // Whole records are sorted in runs, and these merged.
    EAGRE_PLAN_CLASSIC = 4,
} EagrePlan;

// Who reads and who writes at the same time, while threads fetch records, or merge runs, and write. All but AUTO are for
// devices that are slower if read and written at once, or by many threads, such as persistent memory.
typedef enum EagreConcurrency {
    // What suits the devices.
    EAGRE_CONCURRENCY_AUTO = 0,
    // Threads read and write whenever they want.
    EAGRE_CONCURRENCY_NO_SYNC = 1,
    // The same, but no more read, and no more write, than is best for the device.
    EAGRE_CONCURRENCY_OVERLAP = 2,
    // The same, and nobody reads while others write.
    EAGRE_CONCURRENCY_AWARE = 3,
} EagreConcurrency;

// How an output is compressed.
typedef enum EagreCompression {
    // Not at all.
    EAGRE_COMPRESSION_NONE = 0,
    // As a gzip file of many members.
    EAGRE_COMPRESSION_GZIP = 1,
    // As a Zstandard file of many frames.
    EAGRE_COMPRESSION_ZSTD = 2,
    // As an lz4 file of many frames.
    EAGRE_COMPRESSION_LZ4 = 3,
} EagreCompression;

// Keys that cut records into parts, which it owns.
typedef struct EagreBoundaries EagreBoundaries;

// A handle to a stream that belongs to neither end. Any thread may use it, several at once, also when both ends are
// closed. It does not keep the stream open. Between processes it knows nothing any more when this process's end is closed.
typedef struct EagreControl EagreControl;

// Patterns, made ready for finding. Any number of threads may use one at once.
typedef struct EagreFinder EagreFinder;

// Where others open streams to this side. Several threads may use it at once, but for closing it.
typedef struct EagreListener EagreListener;

// A merge of sorted records. One thread at a time uses it.
typedef struct EagreMerge EagreMerge;

// A stream that a caller wants, and that nobody has opened yet.
typedef struct EagreOffer EagreOffer;

// Keys in buckets, which it owns.
typedef struct EagrePartition EagrePartition;

// A budget of memory that some streams share. Handles may be used by several threads at once.
typedef struct EagrePool EagrePool;

// A name at which other processes of the same user connect. Several threads may use it at once, but for closing it.
typedef struct EagreProcessListener EagreProcessListener;

// A block taken from a reader. It may travel to another thread.
typedef struct EagreReadBlock EagreReadBlock;

// The reading end of a stream. One thread at a time uses it; it may be handed from thread to thread.
typedef struct EagreReader EagreReader;

// The thread that carries a stream to another host, or from one.
typedef struct EagreTransfer EagreTransfer;

// A vector of elements of any one size. It grows by rewiring blocks of memory from a pool into addresses reserved
// beforehand: growing copies nothing, and the address of an element never changes. Memory comes in blocks, of 2 MiB
// usually: it is for few large vectors.
typedef struct EagreVector EagreVector;

// A block taken from a writer. It may travel to another thread.
typedef struct EagreWriteBlock EagreWriteBlock;

// The writing end of a stream. One thread at a time uses it; it may be handed from thread to thread.
typedef struct EagreWriter EagreWriter;

// How a stream is to be.
//
// Fill it with eagre_options_default, then change what should be different. Programs compiled with an older, smaller
// EagreOptions go on working with newer libraries. A program compiled with a newer, larger one works with an older
// library as long as the fields that one does not know are zero; else it gets EAGRE_WRONG_VERSION.
typedef struct EagreOptions {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_OPTIONS_VERSION.
    uint32_t version;
    // A name for messages and reports, or null: the library makes one up. Copied.
    const char *name;
    // The unit that moves, in bytes: a power of two from 64 KiB to 64 MiB. 0: the default, 2 MiB.
    uint64_t block_size;
    // L: how many blocks behind its furthest write the writer may still touch. 0 to 60, default 1. A writer on a
    // pointer needs at least 1, and as many as its longest single memcpy spans.
    uint32_t rewrite;
    // M: how many blocks behind its furthest read the reader may still touch. 0 to 60, default 1. A reader on a
    // pointer needs at least 1.
    uint32_t lookback;
    // N: how many finished blocks may wait between the ends. 1 to 60. 0: the default, a few.
    uint32_t read_ahead;
    // EAGRE_FRESH, EAGRE_SPARSE, EAGRE_POISON, EAGRE_ON_DEMAND and EAGRE_POINTERS, added up. Default 0.
    uint32_t flags;
    // The most bytes the stream can carry: its address space. The stream gets as much, or opening fails. 0: the default,
    // 1 TiB, or less where addresses are limited or many streams are open; eagre_control_capacity tells.
    uint64_t capacity;
    // The length of the stream in bytes if it is known beforehand: the reader can ask for it at once, and finishing
    // with another length is an error. EAGRE_UNKNOWN, the default, if not.
    uint64_t length;
    // The longest time one end may wait for the other, in nanoseconds. 0, the default: for ever.
    uint64_t timeout_ns;
    // An EagreTrap.
    int32_t trap;
    // An EagreMover.
    int32_t mover;
    // Where the memory comes from, or null: a pool shared by all streams of the same kind in this process.
    const struct EagrePool *pool;
} EagreOptions;

// Code that writes to a stream pointer.
typedef void (*EagreWriteScope)(void *stream, void *context);

// Code that reads from a stream pointer.
typedef void (*EagreReadScope)(const void *stream, void *context);

// Fills a stream: puts its bytes that start at offset into bytes, at least one and at most size, and returns how many.
// 0 means that the stream ends here. A negative number, best a negated errno, fails the stream with EAGRE_WRITER_FAILED.
typedef int64_t (*EagreSource)(void *context, uint64_t offset, void *bytes, size_t size);

// Frees a callback's context when the callback will not be called any more. May be null.
typedef void (*EagreFree)(void *context);

// Empties a stream: takes its size bytes that start at offset, all of them, and returns 0. Called with size 0 once when
// the stream has ended at offset bytes. Anything but 0, best a negated errno, fails the stream with EAGRE_READER_GONE.
typedef int64_t (*EagreSink)(void *context, uint64_t offset, const void *bytes, size_t size);

// What a stream has done and holds. Fields a library does not know are zero.
typedef struct EagreStats {
    // The size of this struct in bytes, as the caller has it.
    uint32_t size;
    // The version the library has filled in.
    uint32_t version;
    // The EagreTrap in force.
    int32_t trap;
    // The EagreMover in force.
    int32_t mover;
    // Blocks the writer has taken.
    uint64_t writer_blocks;
    // Touches of the writer's pointer that stopped a thread.
    uint64_t writer_faults;
    // Blocks moved to the writer's addresses.
    uint64_t writer_moves;
    // Blocks replaced by another for the writer because they were pinned by I/O.
    uint64_t writer_substituted;
    // Times the writer had to wait for the reader.
    uint64_t writer_waits;
    // How long, together, in nanoseconds.
    uint64_t writer_wait_ns;
    // Bytes committed through explicit calls, or declared written.
    uint64_t writer_position;
    // Blocks the reader has taken.
    uint64_t reader_blocks;
    // Touches of the reader's pointer that stopped a thread.
    uint64_t reader_faults;
    // Blocks moved to the reader's addresses.
    uint64_t reader_moves;
    // Blocks replaced by another for the reader because they were pinned by I/O.
    uint64_t reader_substituted;
    // Times the reader had to wait for the writer.
    uint64_t reader_waits;
    // How long, together, in nanoseconds.
    uint64_t reader_wait_ns;
    // Bytes consumed through explicit calls, or declared read.
    uint64_t reader_position;
    // Blocks the reader may read or has read.
    uint64_t published;
    // Blocks the reader has given back.
    uint64_t released;
    // Blocks of memory held now.
    uint64_t held;
    // The most it may hold: N + L + M + 1.
    uint64_t most;
    // The most bytes the stream can carry. Version 2.
    uint64_t capacity;
} EagreStats;

// How streams between hosts are to be, and how the two sides know each other. Both sides have options of their own; only their
// secrets must agree.
//
// Fill it with eagre_network_options_default, then change what should be different. Set at most one of token, token_file, and
// identity with peers; the connection is TLS 1.3 then, in which both sides prove who they are. Without them it is plain TCP, and
// addresses other than loopback are EAGRE_SETTING.
typedef struct EagreNetworkOptions {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_NETWORK_OPTIONS_VERSION.
    uint32_t version;
    // A secret that both sides have: at least 16 random bytes. Or null, the default. Copied.
    const void *token;
    // How many bytes token has.
    size_t token_size;
    // A file with such a secret, which only its owner may read; line ends at its end do not count. Or null, the default.
    const char *token_file;
    // The file of this side's key, as 'eagre id' makes it, or null, the default. Needs peers.
    const char *identity;
    // The fingerprints of the keys that are trusted ("sha256:" and 64 hexadecimal digits), or null, the default. Copied.
    const char *const *peers;
    // How many fingerprints peers has. Default 0.
    uint32_t peer_count;
    // EAGRE_INSECURE_PLAIN, or 0, the default.
    uint32_t flags;
    // For how long a connection that cannot be made, or has broken, is tried again, in nanoseconds. Default 30 s.
    uint64_t retry_ns;
    // For how long the other side may be silent before the connection counts as broken, in nanoseconds. Both sides need about the
    // same. Default 15 s; at least 200 ms.
    uint64_t silence_ns;
    // How many bytes may be on their way: the writer's side keeps them until the other side has them. 2 to 56 blocks. A link
    // of so many bytes per round trip is filled. 0, the default: 16 MiB, and 4 MiB where the other side is on this machine.
    uint64_t window;
    // The blocks of this side's streams, in bytes: a power of two from 64 KiB to 64 MiB. 0: the default, 2 MiB.
    uint64_t block_size;
    // The length of a stream in bytes, if its writer knows it beforehand. EAGRE_UNKNOWN, the default, if not.
    uint64_t length;
    // The most bytes a second that this side sends, over all streams of a listener together. 0, the default: no limit.
    uint64_t limit;
    // Other settings of this side's streams, or null, the default: trap, mover, pool, lookback of a reader, timeout_ns, flags. The
    // other fields of them do not count.
    const struct EagreOptions *stream;
    // How blocks travel by RDMA, or null, the default: beside the connection, which stays what it is. A provider of libfabric's (tcp,
    // verbs or shm), then, behind commas, what shall not be as usual: pool (the default), each-block, pipelined-copy or copy; unchecked;
    // busy. As "verbs" or "tcp,copy". Both sides must say the same provider and algorithm. Blocks are not encrypted on their way.
    const char *rdma;
} EagreNetworkOptions;

// Told how far a sort is: done of total keys. Returns 0 to go on, anything else to end with EAGRE_CANCELLED. Any thread
// of the sort may call it, one at a time.
typedef int (*EagreProgress)(void *context, uint64_t done, uint64_t total);

// How to sort. Fill it with eagre_sort_options_default, then change what should be different.
typedef struct EagreSortOptions {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_SORT_OPTIONS_VERSION.
    uint32_t version;
    // How many threads may be used at most, the caller's included. 0, the default: as many as this process may run on.
    uint32_t threads;
    // EAGRE_STABLE, EAGRE_SORT_DESCENDING, EAGRE_NAN_LAST, or 0, the default.
    uint32_t flags;
    // The most bytes of memory taken beside the keys, or beside the copies that eagre_argsort makes of them. Default:
    // EAGRE_SLACK_DEFAULT. With too little it takes longer.
    uint64_t slack;
    // Called every few MiB of work, or null, the default. It must return: no longjmp, no exception.
    EagreProgress progress;
    // The first argument of progress.
    void *context;
} EagreSortOptions;

// By what to partition, and how. Fill it with eagre_partition_options_default, then change what should be different.
//
// With boundaries, by these; else with bits, by these bits of the key; else into so many ways of equal width. Numbers
// with a sign, floating-point ones in their total order, are seen as the unsigned ones that have the same order.
typedef struct EagrePartitionOptions {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_PARTITION_OPTIONS_VERSION.
    uint32_t version;
    // Into so many ranges of equal width, 2 to 1024. Default: 256.
    uint32_t ways;
    // By so many bits, 1 to 10; 0, the default, for ways.
    uint32_t bits;
    // The lowest of those bits.
    uint32_t shift;
    // How many threads may be used at most, the caller's included. 0, the default: as many as this process may run on.
    uint32_t threads;
    // EAGRE_DENSE or 0, the default: each bucket begins where it suits.
    uint32_t flags;
    // How many boundaries there are: 1 to 1023, or 0, the default, if boundaries is null.
    uint32_t boundary_count;
    // Boundaries in ascending order, or null, the default: keys, or of pairs first parts. Bucket i begins with boundary
    // i - 1 and ends before boundary i.
    const void *boundaries;
    // The most bytes of memory taken beside the keys and the buckets. Default: EAGRE_SLACK_DEFAULT, as many as the keys
    // have.
    uint64_t slack;
    // Where the memory of the buckets comes from, or null, the default: the pool that all streams share.
    const struct EagrePool *pool;
} EagrePartitionOptions;

// How bytes are cut into records, and in which order these come. Fill it with eagre_format_default, then change what
// should be different. Keys are compared as memcmp compares; a key that is the beginning of another comes first. Those of text
// are turned into bytes for which that is the order that was asked for.
typedef struct EagreFormat {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_FORMAT_VERSION.
    uint32_t version;
    // An EagreRecords. Default: EAGRE_RECORDS_LINES.
    int32_t records;
    // EAGRE_DESCENDING, EAGRE_BIG_ENDIAN, EAGRE_TEXT_CSV, EAGRE_TEXT_STABLE and EAGRE_FIXED_NAN_LAST, added up. Default 0.
    uint32_t flags;
    // Of lines: the byte that ends them, 0 to 255. Default: a newline.
    uint32_t terminator;
    // Of EAGRE_RECORDS_KLV: how many bytes the length of a value has, 1 to 8.
    uint32_t length_size;
    // Of EAGRE_RECORDS_KLV: how many bytes a key has.
    uint64_t key_size;
    // Of EAGRE_RECORDS_FIXED: how many bytes a record has.
    uint64_t record_size;
    // Of EAGRE_RECORDS_FIXED: the keys, the one that counts most first, with commas between them; or null, the default: the
    // whole record. A key is OFFSET:LENGTH for bytes, such as "0:10", or OFFSET:TYPE for a number: u, i or f, 8 to 64 bits,
    // least significant byte first unless be follows, such as "8:i64" or "0:u32be". A final :desc makes it descending.
    const char *keys;
    // Of EAGRE_RECORDS_TEXT: text_key_count keys as -k of GNU sort has them, the one that counts most first, such as "2,2n" or
    // "1.3,1.5r"; or null, the default: the whole line.
    const char *const *text_keys;
    // Of EAGRE_RECORDS_TEXT: how many keys text_keys has. Default 0.
    uint64_t text_key_count;
    // Of EAGRE_RECORDS_TEXT: letters of options of GNU sort, b d f g h i M n r V, which keys without letters of their own
    // inherit, such as "nr"; or null, the default. An r is EAGRE_DESCENDING.
    const char *text_options;
    // Of EAGRE_RECORDS_TEXT: the byte between fields, as -t of GNU sort has it, such as ",", and "\\0" in C for a NUL; or null,
    // the default: each field begins with the blanks before it.
    const char *separator;
} EagreFormat;

// Told how far the sort of a file is: the name of the phase, and done of total bytes (EAGRE_UNKNOWN if that is not known).
// Returns 0 to go on, anything else to end with EAGRE_CANCELLED. phase is valid during the call. Any thread of the sort may
// call it, one at a time.
typedef int (*EagreFileProgress)(void *context, const char *phase, uint64_t done, uint64_t total);

// How to sort files and streams. Fill it with eagre_file_sort_options_default, then change what should be different.
typedef struct EagreFileSortOptions {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_FILE_SORT_OPTIONS_VERSION.
    uint32_t version;
    // How many threads compute. 0, the default: as many as this process may run on.
    uint32_t threads;
    // EAGRE_UNIQUE, EAGRE_VERIFY and EAGRE_COMPRESS_RUNS, added up. Default 0.
    uint32_t flags;
    // An EagrePlan. Default: EAGRE_PLAN_AUTO.
    int32_t plan;
    // How many directories temporary names. Default 0.
    uint32_t temporary_count;
    // The memory it may use, in bytes: 16 MiB at least. 0, the default: half of what is available to this process.
    uint64_t memory;
    // How many records of the result are written. Default: EAGRE_UNKNOWN, all.
    uint64_t head;
    // Directories for temporary files, used in turn; or null, the default: TMPDIR, or /var/tmp. Copied.
    const char *const *temporary;
    // Called a few times a second at most, or null, the default. It must return: no longjmp, no exception.
    EagreFileProgress progress;
    // The first argument of progress.
    void *context;
    // An EagreCompression: how the output is compressed, by all threads, whatever its name is. Not for streams and indexes. Whether
    // there is room for it is not checked before. Default: EAGRE_COMPRESSION_NONE.
    int32_t compression;
    // An EagreConcurrency. Default: EAGRE_CONCURRENCY_AUTO.
    int32_t concurrency;
    // How many records at the beginning of the input, such as the names of columns, stay there. Not for streams and indexes.
    // Default 0.
    uint64_t header;
} EagreFileSortOptions;

// What a sort did. Fields a library does not know are zero.
typedef struct EagreSortReport {
    // The size of this struct in bytes, as the caller has it.
    uint32_t size;
    // The EagrePlan by which it was done.
    int32_t plan;
    // The records of the input.
    uint64_t records;
    // The bytes of the input.
    uint64_t bytes;
    // The bytes of the output, before it was compressed.
    uint64_t written;
    // The runs in temporary files.
    uint64_t runs;
    // How often they were merged.
    uint64_t merges;
    // The bytes of all temporary files, as they were written: compressed if they were.
    uint64_t temporary;
    // The EagreConcurrency by which it was done.
    int32_t concurrency;
    // 0.
    uint32_t reserved;
} EagreSortReport;

// Which records of an index to write, and how. Fill it with eagre_gather_options_default, then change what should be different.
typedef struct EagreGatherOptions {
    // The size of this struct in bytes.
    uint32_t size;
    // EAGRE_GATHER_OPTIONS_VERSION.
    uint32_t version;
    // How many threads copy. 0, the default: as many as this process may run on.
    uint32_t threads;
    // EAGRE_COPIED or 0, the default.
    uint32_t flags;
    // The rank of the first record that is written. The first of all has rank 0, the default.
    uint64_t start;
    // The rank before which to end. Default: EAGRE_UNKNOWN, after the last.
    uint64_t end;
    // Called now and then, with the phase "gather" and how many of how many records there are, or null, the default. It must
    // return: no longjmp, no exception.
    EagreFileProgress progress;
    // The first argument of progress.
    void *context;
} EagreGatherOptions;

// Some bytes in a row.
typedef struct EagreBytes {
    // The first of them. May be null if there are none.
    const void *bytes;
    // How many.
    size_t size;
} EagreBytes;

// Gives a source of a merge more bytes. rest has those that were not merged yet, perhaps none. Put there the address and the
// number of bytes that begin with these and have more behind them, and return 1; the buffer of before is not used any more.
// Return 0 if there are no more, or a negative number, best a negated errno, to fail.
typedef int (*EagreRefill)(void *context, size_t source, struct EagreBytes *rest);

// What was counted. A number that was not asked for is 0; bytes always are counted.
typedef struct EagreCounts {
    // Newlines.
    uint64_t lines;
    // Words.
    uint64_t words;
    // Bytes.
    uint64_t bytes;
    // Columns of the longest line.
    uint64_t longest;
} EagreCounts;

// What to find: size bytes, any bytes, at least one.
typedef struct EagrePattern {
    // The first of them.
    const void *bytes;
    // How many.
    size_t size;
} EagrePattern;

// Gets an occurrence: the offset of its first byte, its size bytes, and the pattern's number, counted from 0. Returns 0
// to go on, anything else to end the search.
typedef int (*EagreFound)(void *context, uint64_t offset, const void *bytes, size_t size, size_t pattern);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// ---- Errors ----

// A status in a few words. Never null; the text is constant and belongs to the library.
const char *eagre_strerror(int status);

// What the last failed call in this thread had to say: one line with the stream, the reason and the cure.
//
// Never null; empty if no call has failed in this thread. The pointer is the same for the thread's life; the next call
// that fails in this thread writes over the text, and one that succeeds leaves it alone, as with errno. Of a message of
// more than 1023 bytes the end is missing.
const char *eagre_last_error(void);

// The status of the last failed call in this thread, for functions that return a pointer.
//
// EAGRE_OK if no call has failed in this thread.
enum EagreStatus eagre_last_status(void);

// ---- Streams ----

// Opens a stream and gives out its two ends, usually for two threads.
//
// options may be null: all defaults. On failure both ends are null. Close them with eagre_writer_close and
// eagre_reader_close.
//
// Fails with EAGRE_INVALID, EAGRE_WRONG_VERSION, EAGRE_SETTING, EAGRE_UNAVAILABLE or EAGRE_RESOURCES.
enum EagreStatus eagre_open(const struct EagreOptions *options, struct EagreWriter **writer, struct EagreReader **reader);

// Fills options with the defaults. Call it as eagre_options_default(&options, sizeof options).
//
// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreOptions.
enum EagreStatus eagre_options_default(struct EagreOptions *options, size_t size);

// ---- Streams: the writer ----

// The pointer to byte 0 of the stream. Writing through it produces the stream. Null on failure: EAGRE_NO_POINTER.
//
// Valid until this end is closed. A write may touch the furthest block written so far, the L blocks before it, and
// anything after it up to the capacity; a write further back ends the process with a message, as the block has been
// given to the reader. When all is written, call eagre_writer_finish_at: it also tells whether the stream failed
// meanwhile.
//
// memcpy, memset and the like may store the last bytes of a piece first. So write pieces of at most L blocks (2 MiB
// by default), or use eagre_writer_copy_in, which takes any length.
void *eagre_writer_pointer(struct EagreWriter *writer);

// Calls write(stream, context) with the pointer to byte 0 of the stream, and tells whether the stream failed meanwhile.
//
// Prefer it to eagre_writer_pointer where signals may be blocked: under the signal trap the fault signals are
// unblocked in this thread for as long as it runs. write must return: no longjmp, no exception.
enum EagreStatus eagre_writer_scope(struct EagreWriter *writer, EagreWriteScope write, void *context);

// Room for at least bytes contiguous bytes (0 counts as 1) at the position. Waits for the reader. No faults.
//
// Puts how many bytes there are, perhaps more than asked for, into *room (unless room is null). What they hold has no
// meaning. Valid until the next call with this writer; eagre_writer_commit says how many of them are the stream's.
//
// Null on failure: the stream's, or EAGRE_TOO_LARGE if the bytes would span more than L + 1 blocks, or if a
// pointer has written ahead and the window has left the position behind: say how far with eagre_writer_advance_to.
void *eagre_writer_reserve(struct EagreWriter *writer, size_t bytes, size_t *room);

// The first bytes bytes of what eagre_writer_reserve gave are the stream's now. Full blocks go to the reader.
//
// Fails with EAGRE_INVALID if that is more than was reserved.
enum EagreStatus eagre_writer_commit(struct EagreWriter *writer, size_t bytes);

// Appends size bytes from data, however many they are. Waits for the reader. No faults.
//
// On failure some of the bytes may have been appended.
enum EagreStatus eagre_writer_copy_in(struct EagreWriter *writer, const void *data, size_t size);

// How many bytes have been committed, or declared written by eagre_writer_advance_to. EAGRE_UNKNOWN if writer is null.
uint64_t eagre_writer_position(const struct EagreWriter *writer);

// Declares that a pointer has written everything before offset: reserve, copy_in and finish go on from there.
//
// Fails with EAGRE_INVALID_LENGTH if offset lies before what the reader already has.
enum EagreStatus eagre_writer_advance_to(struct EagreWriter *writer, uint64_t offset);

// Ends the stream at the position. Then only eagre_writer_close is left to do. See eagre_writer_finish_at.
enum EagreStatus eagre_writer_finish(struct EagreWriter *writer);

// Ends the stream at length bytes, for a writer on a pointer. The rest of the last block reads as zero, at least one
// byte of it. May wait for the reader; with a sink, waits until it has taken everything; with a file, until all is on the
// disk and the file has appeared; between hosts, until the other side has everything.
//
// Fails with the stream's failure; with EAGRE_INVALID_LENGTH if the reader already has more, another length was
// announced at open, or the stream is finished already; with EAGRE_BUSY if blocks taken are still out. Between hosts, EAGRE_NETWORK
// is also that the connection was lost before it is known whether everything has arrived, and a failure is the end of the stream.
enum EagreStatus eagre_writer_finish_at(struct EagreWriter *writer, uint64_t length);

// Fails the stream: the reader gets EAGRE_WRITER_FAILED with this message, which may be null and is copied.
enum EagreStatus eagre_writer_fail(struct EagreWriter *writer, const char *message);

// Whether the stream has failed, and how. For code on a pointer, which is not told.
enum EagreStatus eagre_writer_check(const struct EagreWriter *writer);

// A handle to watch and cancel the stream from any thread. Close it with eagre_control_close.
enum EagreStatus eagre_writer_control(const struct EagreWriter *writer, struct EagreControl **control);

// Takes the next block, to be filled while others are being filled: up to L + 1 at a time, completed in any order.
// The position must be at the start of a block. Waits for the reader.
//
// Give the block back with eagre_writer_complete. Fails with the stream's failure, or with EAGRE_BUSY if L + 1 blocks
// are out or the position is inside a block.
enum EagreStatus eagre_writer_take(struct EagreWriter *writer, struct EagreWriteBlock **block);

// A block taken is not full, and will not be: it comes back with what it holds, and is not to be used any more. The block
// taken last comes back first. If the bytes in it are the stream's last, eagre_writer_finish_at says how many they are.
//
// Fails with EAGRE_INVALID, and leaves the block alone, if it was taken from another stream; with EAGRE_BUSY if a block
// taken later is still out.
enum EagreStatus eagre_writer_put_back(struct EagreWriter *writer, struct EagreWriteBlock *block);

// A block taken is full; it is not to be used any more. Blocks go to the reader in order, whatever the order of
// completion.
//
// Fails with EAGRE_INVALID, and leaves the block alone, if it was taken from another stream.
enum EagreStatus eagre_writer_complete(struct EagreWriter *writer, struct EagreWriteBlock *block);

// Closes this end and frees the handle. Null is nothing.
//
// Closed before it was finished, the reader gets EAGRE_WRITER_GONE (on another host, EAGRE_SYSTEM), and not a short stream. With a
// sink, closing does not wait for it; finishing does. Pointers of this end are not to be used any more.
void eagre_writer_close(struct EagreWriter *writer);

// ---- Streams: the reader ----

// The pointer to byte 0 of the stream. Reading through it consumes the stream. Null on failure: EAGRE_NO_POINTER.
//
// Valid until this end is closed. A read may touch the furthest block read so far, the M blocks before it, and
// anything after it up to the end and the zero byte that follows it; a read further back ends the process with a
// message, as the block has been given back. After a failure of the stream zeros are read; ask eagre_reader_check
// before you trust a result.
void *eagre_reader_pointer(struct EagreReader *reader);

// Calls read(stream, context) with the pointer to byte 0 of the stream, and tells whether the stream failed meanwhile:
// what read found is to be trusted only if this returns EAGRE_OK.
//
// Under the signal trap the fault signals are unblocked in this thread for as long as it runs. read must return: no
// longjmp, no exception.
enum EagreStatus eagre_reader_scope(struct EagreReader *reader, EagreReadScope read, void *context);

// The next bytes: at least bytes of them (0 counts as 1), contiguous; fewer only where the stream ends, none at its
// end. Waits for the writer. No faults.
//
// Puts how many bytes there are into *size. Valid until the next call with this reader; eagre_reader_consume says how
// many are done with. At the end of the stream *size is 0 and the pointer is not null.
//
// Null on failure: the stream's, or EAGRE_TOO_LARGE if the bytes would span more than M + 1 blocks, or if a
// pointer has read ahead and the window has left the position behind: say how far with eagre_reader_advance_to.
const void *eagre_reader_fill(struct EagreReader *reader, size_t bytes, size_t *size);

// The first bytes bytes of what eagre_reader_fill gave are done with. Blocks behind them go back to the writer.
//
// Fails with EAGRE_INVALID if that is more than there was.
enum EagreStatus eagre_reader_consume(struct EagreReader *reader, size_t bytes);

// Copies the next size bytes to data, however many they are. Waits for the writer. No faults.
//
// Puts how many were copied into *copied (unless copied is null): fewer than size only at the end of the stream. On
// failure some bytes may have been consumed.
enum EagreStatus eagre_reader_copy_out(struct EagreReader *reader, void *data, size_t size, size_t *copied);

// The length of the stream in bytes, once the writer has finished or if it was announced at open; else EAGRE_UNKNOWN.
uint64_t eagre_reader_length(const struct EagreReader *reader);

// How many bytes have been consumed, or declared read by eagre_reader_advance_to. EAGRE_UNKNOWN if reader is null.
uint64_t eagre_reader_position(const struct EagreReader *reader);

// Declares that a pointer has read everything before offset: fill and copy_out go on from there.
//
// Fails with EAGRE_INVALID_LENGTH if offset lies before what has been given back.
enum EagreStatus eagre_reader_advance_to(struct EagreReader *reader, uint64_t offset);

// Says that the stream has been read to its end, and checks that. Waits for the writer if it is not known yet where the end is; between
// hosts, also until the other side knows that everything has arrived, so that this program may end. Then only eagre_reader_close is
// left to do. A reader on a pointer says with eagre_reader_advance_to how far it has read.
//
// Fails with EAGRE_INVALID, and changes nothing, if there is more to read; with the stream's failure; between hosts, with EAGRE_NETWORK,
// and with EAGRE_CLOSED if it is finished already.
enum EagreStatus eagre_reader_finish(struct EagreReader *reader);

// Fails the stream: the writer gets EAGRE_READER_GONE with this message, which may be null and is copied.
enum EagreStatus eagre_reader_fail(struct EagreReader *reader, const char *message);

// Whether the stream has failed, and how. For code on a pointer, which is not told.
enum EagreStatus eagre_reader_check(const struct EagreReader *reader);

// A handle to watch and cancel the stream from any thread. Close it with eagre_control_close.
enum EagreStatus eagre_reader_control(const struct EagreReader *reader, struct EagreControl **control);

// Takes the next block, to be used while others are in use: up to M + 1 at a time, released in any order. The
// position must be at the start of a block. Waits for the writer. At the end of the stream *block is null.
//
// Give the block back with eagre_reader_release. Fails with the stream's failure, or with EAGRE_BUSY if M + 1 blocks
// are out or the position is inside a block.
enum EagreStatus eagre_reader_take(struct EagreReader *reader, struct EagreReadBlock **block);

// A block taken is done with; it is not to be used any more. Blocks go back in order, whatever the order of release.
//
// Fails with EAGRE_INVALID, and leaves the block alone, if it was taken from another stream.
enum EagreStatus eagre_reader_release(struct EagreReader *reader, struct EagreReadBlock *block);

// Closes this end and frees the handle. Null is nothing.
//
// Closed before the writer finished, the writer gets EAGRE_READER_GONE. Pointers of this end are not to be used any
// more.
void eagre_reader_close(struct EagreReader *reader);

// ---- Streams: blocks that are taken and completed in any order ----

// The bytes of a block to fill, and how many they are (unless size is null). What they hold has no meaning. Valid
// until the block is completed. Null if block is.
void *eagre_write_block_data(struct EagreWriteBlock *block, size_t *size);

// Where a block begins in the stream, in bytes. EAGRE_UNKNOWN if block is null.
uint64_t eagre_write_block_offset(const struct EagreWriteBlock *block);

// Gives a block up without completing it, which fails the stream: the reader gets EAGRE_WRITER_GONE. Null is nothing.
void eagre_write_block_abandon(struct EagreWriteBlock *block);

// The bytes of a block to read, and how many they are (unless size is null); the last one of a stream may be short.
// Valid until the block is released. Null if block is.
const void *eagre_read_block_data(const struct EagreReadBlock *block, size_t *size);

// Where a block begins in the stream, in bytes. EAGRE_UNKNOWN if block is null.
uint64_t eagre_read_block_offset(const struct EagreReadBlock *block);

// Gives a block up without releasing it, once its reader is closed. Before that the stream would stop when the window
// is full. Null is nothing.
void eagre_read_block_abandon(struct EagreReadBlock *block);

// ---- Streams: callbacks ----

// Opens a stream that source fills, and gives out its reading end.
//
// source is called by a helper thread with context, and may do whatever it likes, but must return: no longjmp, no
// exception. That thread calls free_context(context) when it is done, perhaps some time after the reader was closed;
// so it does if opening fails. Fails as eagre_open.
enum EagreStatus eagre_open_source(const struct EagreOptions *options, EagreSource source, void *context, EagreFree free_context, struct EagreReader **reader);

// Opens a stream that sink empties, and gives out its writing end. eagre_writer_finish waits for the sink.
//
// sink is called by a helper thread with context, and may do whatever it likes, but must return: no longjmp, no
// exception. That thread calls free_context(context) when it is done: before eagre_writer_finish returns, or some time
// after a writer was closed that did not finish; so it does if opening fails. Fails as eagre_open.
enum EagreStatus eagre_open_sink(const struct EagreOptions *options, EagreSink sink, void *context, EagreFree free_context, struct EagreWriter **writer);

// ---- Streams: control and counters ----

// Fails the stream: both ends get EAGRE_CANCELLED from their next call, or the one they wait in.
enum EagreStatus eagre_control_cancel(const struct EagreControl *control);

// Whether the stream has failed, and how. Between processes, EAGRE_CLOSED if this process's end is closed.
enum EagreStatus eagre_control_check(const struct EagreControl *control);

// How many bytes the stream can carry; between processes, how many a pointer reaches, as the process that made the stream has said.
// 0 if control is null.
uint64_t eagre_control_capacity(const struct EagreControl *control);

// What the stream has done and holds. Call it as eagre_control_stats(control, &stats, sizeof stats). Between processes, what this
// process's end has done, and how far the other one is; the other counts are 0.
//
// Fails with EAGRE_INVALID if a pointer is null, EAGRE_WRONG_VERSION if size is not that of an EagreStats, EAGRE_CLOSED between processes
// if this process's end is closed.
enum EagreStatus eagre_control_stats(const struct EagreControl *control, struct EagreStats *stats, size_t size);

// Frees the handle; the stream goes on. Null is nothing.
void eagre_control_close(struct EagreControl *control);

// ---- Files as streams ----

// Opens a file as a stream, and gives out its reading end: large files come straight from the disk, past the page
// cache, several requests at a time; files that are in the cache, pipes and the like as they are.
//
// options may be null. Of a stream for a file, rewrite + 1 blocks are on their way from the disk at a time, and length
// is how many bytes to read: a file with fewer is an error. Without it, the file is read to its end.
//
// Fails with EAGRE_SYSTEM if the file cannot be opened, or as eagre_open. If it cannot be read later, the stream fails
// with EAGRE_SYSTEM, and eagre_last_error names the file and the byte.
enum EagreStatus eagre_open_file(const char *path, const struct EagreOptions *options, struct EagreReader **reader);

// Makes a file from a stream, and gives out its writing end. eagre_writer_finish and eagre_writer_finish_at wait until
// all of it is on the disk; then the file appears under its name, complete, in the place of the one that was there. A
// writer that is closed before leaves nothing. Pipes and devices are written as they are.
//
// options may be null. Of a stream for a file, lookback + 1 blocks are on their way to the disk at a time, and length
// is how long the file will be: a disk without room for it is an error at once.
//
// Fails with EAGRE_SYSTEM if the file cannot be made, or as eagre_open. If it cannot be written later, the stream fails
// with EAGRE_SYSTEM, and eagre_last_error names the file and the byte.
enum EagreStatus eagre_create_file(const char *path, const struct EagreOptions *options, struct EagreWriter **writer);

// ---- Streams between hosts ----

// Fills options with the defaults. Call it as eagre_network_options_default(&options, sizeof options).
//
// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreNetworkOptions.
enum EagreStatus eagre_network_options_default(struct EagreNetworkOptions *options, size_t size);

// Opens a stream that is written here and read on another host, where eagre_listener_reader asks for this name. Waits for that as
// long as options.retry_ns says.
//
// address is HOST or HOST:PORT, where HOST may be a number of IPv6 in brackets; the port is 7373 where none is named. options may be
// null. Every form of the writer works on it: pointers, explicit calls, blocks. eagre_writer_finish waits until the other side has
// everything, and has compared the digest of the whole stream. A connection that breaks is made again, and the stream goes on where
// the other side has it.
//
// Fails with EAGRE_INVALID if the address cannot be read or its host is unknown; EAGRE_SETTING; EAGRE_RESOURCES; EAGRE_NETWORK if
// nobody answers or asks for the stream, or the two sides do not trust each other; EAGRE_UNAVAILABLE if the library was built
// without streams between hosts. If the stream fails later, explicit calls of both ends fail with EAGRE_SYSTEM, and finishing
// fails with EAGRE_NETWORK.
enum EagreStatus eagre_connect_writer(const char *address, const char *name, const struct EagreNetworkOptions *options, struct EagreWriter **writer);

// Opens a stream that is written on another host, where eagre_listener_writer asks for this name, and read here. Arguments, waits
// and failures are those of eagre_connect_writer.
//
// Call eagre_reader_finish when all is read: the other side is told that everything has arrived.
enum EagreStatus eagre_connect_reader(const char *address, const char *name, const struct EagreNetworkOptions *options, struct EagreReader **reader);

// Listens at an address of this machine for those who open streams: ADDRESS:PORT, where port 0 is one that is free. A thread of
// the library accepts them. options may be null. Close it with eagre_listener_close.
//
// Fails with EAGRE_INVALID, EAGRE_SETTING or EAGRE_UNAVAILABLE as eagre_connect_writer; with EAGRE_RESOURCES if the system refuses
// the port, or a thread.
enum EagreStatus eagre_listener_open(const char *address, const struct EagreNetworkOptions *options, struct EagreListener **listener);

// Where it listens, with the real port: "127.0.0.1:40123".
//
// Writes at most size bytes to buffer, the zero byte at the end included, and returns how long the text is without it, as
// eagre_wait_report does. 0 if listener is null.
size_t eagre_listener_address(const struct EagreListener *listener, char *buffer, size_t size);

// Waits until another host opens a stream of this name to read it (eagre_connect_reader), and gives out its writer here: as that of
// eagre_connect_writer. limit_ns is for how long, in nanoseconds; 0: for ever.
//
// Fails with EAGRE_TIMED_OUT if nobody has called by then; with EAGRE_RESOURCES; with EAGRE_SETTING if the window does not fit the
// blocks, or no name can be so.
enum EagreStatus eagre_listener_writer(const struct EagreListener *listener, const char *name, uint64_t limit_ns, struct EagreWriter **writer);

// Waits until another host opens a stream of this name to write it (eagre_connect_writer), and gives out its reader here, as
// eagre_listener_writer does.
enum EagreStatus eagre_listener_reader(const struct EagreListener *listener, const char *name, uint64_t limit_ns, struct EagreReader **reader);

// Stops listening and frees the handle: nobody can open a stream here any more, and streams that are open go on. No other thread may
// be inside a function of this handle. Null is nothing.
void eagre_listener_close(struct EagreListener *listener);

// Sends what a stream of this process carries to another host, where eagre_listener_reader asks for this name, or
// eagre_listener_receive_into. reader is the reading end of a pipe or a file, from which nothing has been read. It is the library's
// from here on, whatever the result: a thread reads it. options may be null. Its length, and those of its fields that make a stream,
// are not used; how far the stream can be read back is the window.
//
// Fails as eagre_connect_writer, and with EAGRE_SETTING if something was read; EAGRE_INVALID if the stream comes from another process
// or host, or from a sort.
enum EagreStatus eagre_connect_send_from(const char *address, const char *name, const struct EagreNetworkOptions *options, struct EagreReader *reader, struct EagreTransfer **transfer);

// Receives from another host, where eagre_listener_writer asks for this name, or eagre_listener_send_from, what a stream of this process
// shall carry. writer is the writing end of a pipe, into which nothing has been written. All else is as with eagre_connect_send_from.
enum EagreStatus eagre_connect_receive_into(const char *address, const char *name, const struct EagreNetworkOptions *options, struct EagreWriter *writer, struct EagreTransfer **transfer);

// Waits until another host opens a stream of this name to read it, and sends what a stream of this process carries. limit_ns is that of
// eagre_listener_writer; reader, transfer and failures are those of eagre_connect_send_from, and EAGRE_TIMED_OUT.
enum EagreStatus eagre_listener_send_from(const struct EagreListener *listener, const char *name, uint64_t limit_ns, struct EagreReader *reader, struct EagreTransfer **transfer);

// Waits until another host opens a stream of this name to write it, and receives what a stream of this process shall carry, as
// eagre_listener_send_from sends it.
enum EagreStatus eagre_listener_receive_into(const struct EagreListener *listener, const char *name, uint64_t limit_ns, struct EagreWriter *writer, struct EagreTransfer **transfer);

// Waits until the stream has been carried to its end and both sides know it, and frees the handle. Puts the length of the stream into
// *bytes, and the BLAKE3 digest of all of it, 32 bytes, into digest, unless they are null.
//
// Fails with EAGRE_NETWORK if it has not arrived, or EAGRE_INVALID. To end it early, cancel the stream.
enum EagreStatus eagre_transfer_join(struct EagreTransfer *transfer, uint64_t *bytes, uint8_t *digest);

// Frees the handle of a transfer that nobody waits for: the stream is carried on. Null is nothing.
void eagre_transfer_close(struct EagreTransfer *transfer);

// Waits until another host opens a stream that nobody here waits for by name, and puts an offer of it into *offer: look at it with
// eagre_offer_name, eagre_offer_peer and eagre_offer_peer_writes, then open it (eagre_offer_writer, eagre_offer_reader), attach a stream
// to it (eagre_offer_send_from, eagre_offer_receive_into) or refuse it (eagre_offer_refuse). limit_ns is for how long, in nanoseconds;
// 0: for ever.
//
// Fails with EAGRE_TIMED_OUT if nobody has called by then, EAGRE_INVALID or EAGRE_RESOURCES.
enum EagreStatus eagre_listener_accept(const struct EagreListener *listener, uint64_t limit_ns, struct EagreOffer **offer);

// The name of the stream, as eagre_listener_address gives text out.
size_t eagre_offer_name(const struct EagreOffer *offer, char *buffer, size_t size);

// Where the caller is, "192.0.2.1:40123", as eagre_listener_address gives text out.
size_t eagre_offer_peer(const struct EagreOffer *offer, char *buffer, size_t size);

// 1 if the caller writes the stream, so that this side reads it; 0 if it is the other way round, or offer is null.
int eagre_offer_peer_writes(const struct EagreOffer *offer);

// Opens the stream to be written here. The offer is the library's from here on, whatever the result.
//
// Fails with EAGRE_NETWORK if the caller wants to write too, or has gone; with EAGRE_SETTING, EAGRE_INVALID or EAGRE_RESOURCES.
enum EagreStatus eagre_offer_writer(struct EagreOffer *offer, struct EagreWriter **writer);

// Opens the stream to be read here. All else is as with eagre_offer_writer.
enum EagreStatus eagre_offer_reader(struct EagreOffer *offer, struct EagreReader **reader);

// Sends the caller what a stream of this process carries, as eagre_connect_send_from does. Offer and reader are the library's from
// here on, whatever the result.
enum EagreStatus eagre_offer_send_from(struct EagreOffer *offer, struct EagreReader *reader, struct EagreTransfer **transfer);

// Receives from the caller what a stream of this process shall carry, as eagre_connect_receive_into does. Offer and writer are the
// library's from here on, whatever the result.
enum EagreStatus eagre_offer_receive_into(struct EagreOffer *offer, struct EagreWriter *writer, struct EagreTransfer **transfer);

// Refuses the stream and frees the offer: the caller is told why, and does not try again. why may be null. A null offer is nothing.
void eagre_offer_refuse(struct EagreOffer *offer, const char *why);

// ---- Streams between processes ----

// Makes a connection between two processes, and puts both sides of it into *ours and *theirs: two descriptors that are closed on exec.
// One stream is opened on it.
//
// A child gets *theirs as its standard input (dup2(theirs, 0) between fork and exec), or under its own number, once FD_CLOEXEC is
// cleared in the child. It may also be passed over a Unix socket (SCM_RIGHTS). Close it in this process when it was passed on: as
// long as it is open here, the end of the other process may be noticed later.
//
// Fails with EAGRE_INVALID or EAGRE_RESOURCES.
enum EagreStatus eagre_process_pair(int *ours, int *theirs);

// Connects to the process of the same user that listens as name, and puts the descriptor of the connection into *connection.
//
// Fails with EAGRE_SETTING if it is no name, EAGRE_UNAVAILABLE if nobody listens there or another user does, EAGRE_INVALID or
// EAGRE_RESOURCES.
enum EagreStatus eagre_process_connect(const char *name, int *connection);

// Listens as name, for processes of the same user: a socket in $XDG_RUNTIME_DIR/eagre, or in /run/user/UID/eagre. What a process that
// was killed has left there is replaced. Close it with eagre_process_listener_close.
//
// Fails with EAGRE_SETTING if it is no name (it has a slash, begins with a dot, or is too long), EAGRE_UNAVAILABLE if somebody listens
// there or this user has no such folder, EAGRE_INVALID or EAGRE_RESOURCES.
enum EagreStatus eagre_process_listener_open(const char *name, struct EagreProcessListener **listener);

// Waits for the next process that connects, and puts the descriptor of the connection into *connection. limit_ns is for how long, in
// nanoseconds; 0: for ever. Processes of other users are turned away.
//
// Fails with EAGRE_TIMED_OUT if nobody has connected by then, EAGRE_INVALID or EAGRE_RESOURCES.
enum EagreStatus eagre_process_listener_accept(const struct EagreProcessListener *listener, uint64_t limit_ns, int *connection);

// Stops listening and frees the handle; connections and streams go on. No other thread may be inside a function of this handle.
// Null is nothing.
void eagre_process_listener_close(struct EagreProcessListener *listener);

// Makes a stream on a connection, which this process writes. The other process joins it with eagre_process_join_reader, now or later.
//
// connection is the library's from here on, whatever the result: it is closed with the stream. 0 is standard input, which reads
// as empty from here on. options may be null. Its name, block_size, rewrite, lookback, read_ahead and timeout_ns are the stream's, and
// its capacity is how many bytes a pointer of either end reaches: an end that has no addresses for so many gets no pointer.
// EAGRE_POINTERS asks for that of this end. The others must be the defaults, but for EAGRE_TRAP_SIGNAL and EAGRE_MOVER_REMAP.
//
// Every form of the writer works on it. If the other process ends, however it does, or closes its end, calls fail with
// EAGRE_READER_GONE, at once where they wait. What the other process says of lengths and counters is checked: a contradiction is
// EAGRE_SYSTEM. It can change the bytes of the stream at any time.
//
// Fails with EAGRE_INVALID, EAGRE_WRONG_VERSION, EAGRE_SETTING or EAGRE_RESOURCES; with EAGRE_UNAVAILABLE if the descriptor is no
// connection, the other process is gone, or there are no pointers.
enum EagreStatus eagre_process_make_writer(int connection, const struct EagreOptions *options, struct EagreWriter **writer);

// Makes a stream on a connection, which this process reads. The other process joins it with eagre_process_join_writer, now or later.
//
// As eagre_process_make_writer; if the other process ends before it has finished, calls fail with EAGRE_WRITER_GONE when what it has
// written before is read.
enum EagreStatus eagre_process_make_reader(int connection, const struct EagreOptions *options, struct EagreReader **reader);

// Joins the stream that the other process has made with eagre_process_make_reader: this process writes it. Waits until it is made.
//
// connection is the library's from here on, as with eagre_process_make_writer, whose stream this is like.
//
// Fails with EAGRE_UNAVAILABLE if the descriptor is no connection, or the other process has ended before it made a stream, or is of
// another version; EAGRE_SETTING if it writes as well; EAGRE_INVALID or EAGRE_RESOURCES.
enum EagreStatus eagre_process_join_writer(int connection, struct EagreWriter **writer);

// Joins the stream that the other process has made with eagre_process_make_writer: this process reads it. Waits until it is made.
// As eagre_process_join_writer.
enum EagreStatus eagre_process_join_reader(int connection, struct EagreReader **reader);

// ---- Memory: pools, and vectors that grow without copying ----

// Makes a pool of at most budget blocks of block_size bytes (0: 2 MiB), for streams of the same trap (an EagreTrap) and
// mover (an EagreMover). Name it in EagreOptions.pool. Close it with eagre_pool_close.
//
// A stream holds at most read_ahead + rewrite + lookback + 1 blocks.
enum EagreStatus eagre_pool_open(uint64_t block_size, uint32_t budget, int32_t trap, int32_t mover, struct EagrePool **pool);

// Gives up a pool. Its streams keep it alive, so this may be called as soon as they are open. Null is nothing.
void eagre_pool_close(struct EagrePool *pool);

// Makes an empty vector for elements of element_size bytes. It has addresses for limit elements, which cost no memory;
// 0: for as many as the pool can hold. pool is where memory comes from, or null: the one that all streams share. Close
// it with eagre_vector_close.
//
// Fails with EAGRE_INVALID, EAGRE_RESOURCES or EAGRE_UNAVAILABLE.
enum EagreStatus eagre_vector_open(size_t element_size, uint64_t limit, const struct EagrePool *pool, struct EagreVector **vector);

// The first element. The same as long as the vector lives, however it grows. Null only if vector is.
//
// Memory behind the last element may be written as far as eagre_vector_capacity reaches: eagre_vector_set_length says
// then how many elements there are.
void *eagre_vector_data(struct EagreVector *vector);

// How many elements there are; 0 for a null pointer.
size_t eagre_vector_length(const struct EagreVector *vector);

// For how many elements there is memory now; 0 for a null pointer.
size_t eagre_vector_capacity(const struct EagreVector *vector);

// How many elements there are addresses for; 0 for a null pointer.
size_t eagre_vector_limit(const struct EagreVector *vector);

// Sees to it that there is memory for so many more elements.
//
// Fails with EAGRE_CAPACITY_EXCEEDED beyond the limit, EAGRE_OUT_OF_BLOCKS if the pool or the machine has no memory
// left, EAGRE_RESOURCES if there are too many mappings, EAGRE_FORKED, EAGRE_SYSTEM or EAGRE_INVALID; the vector is as it
// was then.
enum EagreStatus eagre_vector_reserve(struct EagreVector *vector, size_t additional);

// Appends a copy of an element. Fails as eagre_vector_reserve.
enum EagreStatus eagre_vector_push(struct EagreVector *vector, const void *element);

// Appends copies of count elements in a row, all or none. Fails as eagre_vector_reserve.
enum EagreStatus eagre_vector_extend(struct EagreVector *vector, const void *elements, size_t count);

// Declares how many elements there are: at most as many as there is memory for. Those that are new hold whatever was
// written there, or bytes of no meaning. With fewer, the memory is kept: see eagre_vector_shrink_to_fit.
//
// Fails with EAGRE_INVALID_LENGTH if there is no memory for so many, or EAGRE_INVALID.
enum EagreStatus eagre_vector_set_length(struct EagreVector *vector, size_t length);

// Gives memory behind the last element back to the pool. Fails with EAGRE_INVALID.
enum EagreStatus eagre_vector_shrink_to_fit(struct EagreVector *vector);

// Gives up a vector and its memory. Null is nothing.
void eagre_vector_close(struct EagreVector *vector);

// ---- Sorting ----

// Fills options with the defaults. Call it as eagre_sort_options_default(&options, sizeof options).
//
// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreSortOptions.
enum EagreStatus eagre_sort_options_default(struct EagreSortOptions *options, size_t size);

// Sorts count keys in ascending order, in place. key is an EagreKey; options may be null.
//
// Fails with EAGRE_RESOURCES if memory is not to be had, EAGRE_CANCELLED if progress said so, EAGRE_INVALID or
// EAGRE_WRONG_VERSION. Even then keys holds the same keys, in some order.
enum EagreStatus eagre_sort(void *keys, size_t count, int32_t key, const struct EagreSortOptions *options);

// Brings the few smallest of count keys to the front, in ascending order; the others follow in any order. Of the flags it
// takes EAGRE_NAN_LAST only: then NaN is never among them unless all numbers are. Otherwise as eagre_sort.
enum EagreStatus eagre_sort_smallest(void *keys, size_t count, int32_t key, size_t few, const struct EagreSortOptions *options);

// Brings the few largest of count keys to the front, in descending order; the others follow in any order. Flags as for
// eagre_sort_smallest. Otherwise as eagre_sort.
enum EagreStatus eagre_sort_largest(void *keys, size_t count, int32_t key, size_t few, const struct EagreSortOptions *options);

// Puts into places, which has room for count numbers, where the keys are in order: first the index of the smallest, or with
// EAGRE_SORT_DESCENDING of the largest. Equal keys come in the order they are in, EAGRE_STABLE or not. The keys stay where
// they are: places must not lie over them, not even in part.
//
// It takes memory for copies of the keys, each with its place: 8, 16 or 32 bytes for a key of 4, 8 or 16, and 8 for the
// result.
//
// Fails as eagre_sort, and with EAGRE_INVALID if places and keys overlap; places is as it was then.
enum EagreStatus eagre_argsort(const void *keys, size_t count, int32_t key, const struct EagreSortOptions *options, uint64_t *places);

// ---- Partitioning ----

// Fills options with the defaults. Call it as eagre_partition_options_default(&options, sizeof options).
//
// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagrePartitionOptions.
enum EagreStatus eagre_partition_options_default(struct EagrePartitionOptions *options, size_t size);

// Copies count keys into buckets, in one pass; in a bucket they keep their order. key is an EagreKey of 32 or 64 bits, or
// pairs, which go by their first part; options may be null. Close what comes out with eagre_partition_close.
//
// Fails with EAGRE_OUT_OF_BLOCKS or EAGRE_RESOURCES if memory is not to be had, EAGRE_INVALID if options ask for what
// cannot be, or EAGRE_WRONG_VERSION.
enum EagreStatus eagre_partition(const void *keys, size_t count, int32_t key, const struct EagrePartitionOptions *options, struct EagrePartition **partition);

// How many buckets there are; 0 for a null pointer.
size_t eagre_partition_ways(const struct EagrePartition *partition);

// The keys of a bucket, to read and change, and in count how many they are. Several threads may ask at a time, and
// have a bucket each. Null only on failure: EAGRE_INVALID.
void *eagre_partition_bucket(const struct EagrePartition *partition, size_t bucket, size_t *count);

// Gives up buckets and their memory. Null is nothing.
void eagre_partition_close(struct EagrePartition *partition);

// ---- Sorting records: their format ----

// Fills format with the defaults: lines of text. Call it as eagre_format_default(&format, sizeof format).
//
// Fails with EAGRE_INVALID if format is null, EAGRE_WRONG_VERSION if size is not that of an EagreFormat.
enum EagreStatus eagre_format_default(struct EagreFormat *format, size_t size);

// ---- Sorting records: files and streams ----

// Fills options with the defaults. Call it as eagre_file_sort_options_default(&options, sizeof options).
//
// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreFileSortOptions.
enum EagreStatus eagre_file_sort_options_default(struct EagreFileSortOptions *options, size_t size);

// Sorts the file at from into one at to, which may be the same. The output appears when all of it is on the disk, and never
// if anything fails. What does not fit into memory goes to temporary files.
//
// format and options may be null: lines, and all defaults. Puts what was done into report, which has room for report_size
// bytes, unless it is null: eagre_sort_file(from, to, NULL, NULL, &report, sizeof report).
//
// Fails with EAGRE_SYSTEM if a file cannot be read or written, EAGRE_MALFORMED if the input ends inside a record (the message
// says where) or the output does not verify, EAGRE_CANCELLED if progress said so, EAGRE_RESOURCES if memory is refused,
// EAGRE_INVALID if options ask for what cannot be, EAGRE_UNAVAILABLE if they ask for compression and the library was built
// without, or EAGRE_WRONG_VERSION.
enum EagreStatus eagre_sort_file(const char *from, const char *to, const struct EagreFormat *format, const struct EagreFileSortOptions *options, struct EagreSortReport *report, size_t report_size);

// Writes the sorted index of the file at from to one at to: the keys in order, and where their records are, but not the records.
// eagre_gather_file makes records of it. The file must be a regular one, and must stay as it is as long as the index is used.
// docs/sorting-files.md has the format of an index.
//
// All else is as with eagre_sort_file, but EAGRE_VERIFY reads the index back. The plan may be EAGRE_PLAN_ONE_PASS or
// EAGRE_PLAN_MERGE_PASS.
//
// Fails as eagre_sort_file, and with EAGRE_INVALID if options have a header or a compression, if the file is not a regular one,
// or if to is the file itself.
enum EagreStatus eagre_index_file(const char *from, const char *to, const struct EagreFormat *format, const struct EagreFileSortOptions *options, struct EagreSortReport *report, size_t report_size);

// Sorts a stream into a stream: what is written to input comes out of output in order. A thread of the library sorts. What
// does not fit into memory goes to temporary files, so one thread may write everything, finish, and then read everything.
//
// Every form of both ends but pointers works on them. The first byte comes out after eagre_writer_finish. The memory of both
// streams is part of options.memory. format and options may be null. Close both ends, in any order: eagre_reader_close stops
// the sort, and waits until it has ended. After that progress is not called any more.
//
// Fails with EAGRE_INVALID if options ask for what cannot be (EAGRE_VERIFY, a plan with pointers, a compression of the output,
// a header), EAGRE_UNAVAILABLE as eagre_sort_file, EAGRE_RESOURCES, or EAGRE_WRONG_VERSION. If the sort fails later, also because
// input was closed before it finished, reading from output fails with EAGRE_WRITER_FAILED and the reason, and never ends as if
// all were there. A writer that has not finished then, or whose reader was closed, gets EAGRE_READER_GONE.
enum EagreStatus eagre_sort_stream(const struct EagreFormat *format, const struct EagreFileSortOptions *options, struct EagreWriter **input, struct EagreReader **output);

// Puts what the sort did into report, when everything has been read from its output.
//
// Fails as eagre_sort_file if the sort has failed; with EAGRE_INVALID if output is not that of eagre_sort_stream or has more
// to read.
enum EagreStatus eagre_reader_sort_report(struct EagreReader *output, struct EagreSortReport *report, size_t report_size);

// ---- Sorting records: from an index to records ----

// Fills options with the defaults: all records. Call it as eagre_gather_options_default(&options, sizeof options).
//
// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreGatherOptions.
enum EagreStatus eagre_gather_options_default(struct EagreGatherOptions *options, size_t size);

// Writes the records of the file at data to one at to, in the order of the index at index, which eagre_index_file has made: all,
// or those of a range of ranks. to may be one of both files; it appears when all of it is on the disk, and never if anything
// fails. options may be null: all records. Puts how many they are into *records, unless it is null.
//
// Fails with EAGRE_SYSTEM if a file cannot be read or written; EAGRE_MALFORMED if the index is none or is damaged, or if the
// data are not those that were indexed: they have another size, or were changed since, and flags have no EAGRE_COPIED;
// EAGRE_INVALID if the index has no such ranks (the message says how many it has); EAGRE_CANCELLED if progress said so;
// EAGRE_RESOURCES or EAGRE_WRONG_VERSION.
enum EagreStatus eagre_gather_file(const char *index, const char *data, const char *to, const struct EagreGatherOptions *options, uint64_t *records);

// ---- Sorting records: in memory ----

// Chooses the keys that cut records into parts parts of like size, from a sample of whole records: parts - 1 keys in order,
// none if the sample is empty. Part n has the keys from boundary n - 1 on, and before boundary n. format may be null: lines.
// Close what comes out with eagre_boundaries_close.
//
// Fails with EAGRE_MALFORMED if the sample does not end with a record (a last line needs its end), EAGRE_RESOURCES,
// EAGRE_INVALID or EAGRE_WRONG_VERSION.
enum EagreStatus eagre_sample_boundaries(const void *sample, size_t size, size_t parts, const struct EagreFormat *format, struct EagreBoundaries **boundaries);

// The boundaries, and in count how many they are. Valid until they are closed. Null only on failure: EAGRE_INVALID.
const struct EagreBytes *eagre_boundaries_keys(const struct EagreBoundaries *boundaries, size_t *count);

// Frees boundaries. Null is nothing.
void eagre_boundaries_close(struct EagreBoundaries *boundaries);

// Writes the size bytes of records to out in order, and where each part ends in out to ends, which has room for
// boundary_count + 1 numbers. Boundaries are keys in order, such as those of eagre_boundaries_keys. Records with equal keys
// stay in order. out has room for size bytes, and must not lie over records, not even in part.
//
// format may be null: lines. options may be null: of an EagreSortOptions, threads, slack and progress count. Beside both
// buffers it takes 16 bytes per record, and the slack.
//
// Fails with EAGRE_MALFORMED if records do not end with a record (a last line needs its end), EAGRE_CANCELLED,
// EAGRE_RESOURCES, EAGRE_INVALID or EAGRE_WRONG_VERSION. What out and ends hold then has no meaning.
enum EagreStatus eagre_sort_and_partition(const void *records, size_t size, const struct EagreBytes *boundaries, size_t boundary_count, const struct EagreFormat *format, const struct EagreSortOptions *options, void *out, size_t *ends);

// Begins to merge count sources of sorted records, 65536 at most. Of each, sources has the bytes that are there, perhaps none; refill gets
// more of them, and may be null if all are there. Buffers stay the caller's: the bytes of a source must stay as they are
// until its next refill, or until the merge is closed.
//
// Equal keys come in the order of the sources. format may be null: lines; of a source that ends without a newline, the last
// line comes out without one. refill must return: no longjmp, no exception. It is called here, too. Close what comes out with
// eagre_merge_close.
//
// Fails as eagre_merge_next, with EAGRE_RESOURCES, EAGRE_INVALID or EAGRE_WRONG_VERSION.
enum EagreStatus eagre_merge_open(const struct EagreBytes *sources, size_t count, const struct EagreFormat *format, EagreRefill refill, void *context, struct EagreMerge **merge);

// The next record in *record, and in *size how many bytes it has. At the end *record is null. It is where its source has it,
// and valid until the next call with this merge.
//
// Fails with EAGRE_WRITER_FAILED if refill did, EAGRE_MALFORMED if a source ends inside a record, EAGRE_INVALID if refill
// gave no more bytes and returned 1, or after a failure.
enum EagreStatus eagre_merge_next(struct EagreMerge *merge, const void **record, size_t *size);

// Copies the next records to data, as many whole ones as size bytes have room for, and puts how many bytes these are into
// *copied: 0 at the end.
//
// Fails as eagre_merge_next, and with EAGRE_TOO_LARGE if not one record has room. On failure records may be lost.
enum EagreStatus eagre_merge_copy_out(struct EagreMerge *merge, void *data, size_t size, size_t *copied);

// Gives up a merge. Null is nothing.
void eagre_merge_close(struct EagreMerge *merge);

// ---- Counting and finding ----

// Counts a file by the fastest way there is: mapped, read, or read past the page cache, whatever suits it.
//
// what is the sum of EAGRE_LINES, EAGRE_WORDS and EAGRE_LONGEST. threads is how many may be used at most, the caller's
// included; 0 for as many as this process may run on. size is sizeof(EagreCounts).
//
// Fails with EAGRE_SYSTEM if the file cannot be read to its end, EAGRE_RESOURCES if memory is refused, EAGRE_INVALID or
// EAGRE_WRONG_VERSION.
enum EagreStatus eagre_count_file(const char *path, uint32_t what, uint32_t threads, struct EagreCounts *counts, size_t size);

// Counts what is left of a stream, and consumes it. Arguments as for eagre_count_file.
//
// Fails with the stream's failure, EAGRE_INVALID or EAGRE_WRONG_VERSION.
enum EagreStatus eagre_count_stream(struct EagreReader *reader, uint32_t what, struct EagreCounts *counts, size_t size);

// Makes a finder for count patterns, which are copied. Close it with eagre_finder_close.
//
// Occurrences are those of grep -F -o: from left to right, the longest pattern where several begin at one byte, none
// that overlaps the one before. flags is 0 or EAGRE_IGNORE_CASE. Fails with EAGRE_INVALID.
enum EagreStatus eagre_finder_open(const struct EagrePattern *patterns, size_t count, uint32_t flags, struct EagreFinder **finder);

// Counts the occurrences in a file. threads is how many may be used at most, the caller's included; 0 for as many as
// this process may run on.
//
// Fails with EAGRE_SYSTEM if the file cannot be read to its end, EAGRE_RESOURCES if memory is refused, or EAGRE_INVALID.
enum EagreStatus eagre_finder_count_file(const struct EagreFinder *finder, const char *path, uint32_t threads, uint64_t *count);

// Calls found(context, …) for each occurrence in a file, in order, in the calling thread. threads as for
// eagre_finder_count_file. found must return: no longjmp, no exception.
//
// Fails with EAGRE_SYSTEM if the file cannot be read to its end, EAGRE_RESOURCES if memory is refused, or EAGRE_INVALID;
// what lies before was reported.
enum EagreStatus eagre_finder_scan_file(const struct EagreFinder *finder, const char *path, uint32_t threads, EagreFound found, void *context);

// Calls found(context, …) for each occurrence in what is left of a stream, and consumes it. Offsets are the stream's.
// found must return: no longjmp, no exception. If it ends the search, the reader stands somewhere behind the occurrence.
//
// Fails with the stream's failure, or EAGRE_INVALID; what lies before was reported.
enum EagreStatus eagre_finder_scan_stream(const struct EagreFinder *finder, struct EagreReader *reader, EagreFound found, void *context);

// Frees a finder, which nobody uses any more. Takes a null pointer too.
void eagre_finder_close(struct EagreFinder *finder);

// ---- Version and reports ----

// The version of the library, such as "0.1.0". The text is constant and belongs to the library.
const char *eagre_version(void);

// Who waits for whom, in every open stream of this process: a line for each waiting end, none if nobody waits.
//
// Writes at most size bytes to buffer, the zero byte at the end included, and returns how long the whole report is
// without it, as snprintf does. buffer may be null if size is 0.
size_t eagre_wait_report(char *buffer, size_t size);

// What works on this machine: a line for each pair of a trap and a mover, with the reason and the cure if it does not.
//
// Writes to buffer and returns as eagre_wait_report does.
size_t eagre_doctor(char *buffer, size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EAGRE_H */
