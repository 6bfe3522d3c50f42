//! The loops over blocks of 64 bytes. A comparison of a block gives a mask.

/// Bytes in a block: as many as a mask has bits.
pub(super) const BLOCK: usize = 64;

/// Sixty-four bytes in registers. Bit `i` of a mask stands for byte `i`.
///
/// # Safety
/// The methods may be called only where the processor has the instructions of the implementation.
pub(super) unsafe trait Block: Copy {
    /// Loads a block from any address.
    ///
    /// # Safety
    /// 64 bytes can be read at `from`, and the condition of the trait holds.
    unsafe fn load(from: *const u8) -> Self;

    /// The bytes that equal `byte`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn equal(self, byte: u8) -> u64;

    /// The bytes from `low` to `high`, both included. Both must be ASCII.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn between(self, low: u8, high: u8) -> u64;

    /// How often `byte` occurs in whole blocks. Summing the masks is not the fastest way on every processor.
    ///
    /// # Safety
    /// See the trait; the length is a multiple of 64.
    #[inline(always)]
    unsafe fn count(byte: u8, bytes: &[u8]) -> u64 {
        let mut count = 0;
        for block in bytes.chunks_exact(BLOCK) {
            // SAFETY: the slice has 64 bytes; the caller says that the instructions are there.
            count += u64::from(unsafe { Self::load(block.as_ptr()).equal(byte) }.count_ones());
        }
        count
    }
}

/// A slice as blocks. The last block is filled up with zeros.
///
/// The loops below use indices and no closures. The compiler would have to inline the closures before it can use vector
/// instructions in them, and does not always do so.
struct Blocks<'a> {
    whole: &'a [u8],
    last: [u8; BLOCK],
    count: usize,
}

impl<'a> Blocks<'a> {
    #[inline(always)]
    fn of(bytes: &'a [u8]) -> Blocks<'a> {
        let (whole, rest) = bytes.split_at(bytes.len() / BLOCK * BLOCK);
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        Blocks { whole, last, count: bytes.len().div_ceil(BLOCK) }
    }

    /// Where block `i` begins.
    #[inline(always)]
    fn at(&self, i: usize) -> *const u8 {
        let at = i * BLOCK;
        if at < self.whole.len() { self.whole[at..].as_ptr() } else { self.last.as_ptr() }
    }
}

/// # Safety
/// The processor has the instructions of `B`.
#[inline(always)]
pub(super) unsafe fn count<B: Block>(byte: u8, bytes: &[u8]) -> u64 {
    let Blocks { whole, last, .. } = Blocks::of(bytes);
    let real = (1 << (bytes.len() % BLOCK)) - 1;
    // SAFETY: whole blocks; the caller's contract.
    unsafe { B::count(byte, whole) + u64::from((B::load(last.as_ptr()).equal(byte) & real).count_ones()) }
}

/// Words as `wc -w` counts them in the C locale, and whether the last byte was inside a word.
///
/// Six bytes separate words: space, tab, newline, vertical tab, form feed and carriage return. The other visible ASCII
/// characters form words. All other bytes (control characters and bytes above 126) neither form nor end a word; they
/// are called silent below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// How many words have begun.
    pub(crate) begun: u64,
    /// Whether the last word may continue.
    pub(crate) inside: bool,
}

/// # Safety
/// The processor has the instructions of `B`.
#[inline(always)]
pub(super) unsafe fn words<B: Block>(words: &mut Words, bytes: &[u8]) {
    let mut begun = 0;
    let mut inside = u64::from(words.inside);
    let blocks = Blocks::of(bytes);
    for i in 0..blocks.count {
        // SAFETY: `i` is a block of the slice; the caller's contract.
        let (separates, visible) = unsafe {
            let block = B::load(blocks.at(i));
            (block.between(b'\t', b'\r') | block.equal(b' '), block.between(b'!', b'~'))
        };
        // The zeros that fill up the last block are silent too.
        let silent = !(separates | visible);
        // A byte that follows a visible one is inside its word, also if silent bytes lie between them. The addition
        // makes a carry run through the silent bytes and come out behind them.
        let follows = (visible << 1) | inside;
        let (through, overflow) = silent.overflowing_add(follows & silent);
        let inside_before = (follows | through) & !silent;
        begun += u64::from((visible & !inside_before).count_ones());
        inside = (visible >> (BLOCK - 1)) | u64::from(overflow);
    }
    words.begun += begun;
    words.inside = inside != 0;
}

/// The width of lines as `wc -L` measures it in the C locale, and the current column.
///
/// A visible character or a space is one column wide. A tab reaches to the next multiple of eight. All other bytes have
/// no width. Newline, carriage return and form feed return to the first column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The widest line that has ended.
    pub(crate) longest: u64,
    /// The current column, at which the line continues.
    pub(crate) column: u64,
}

/// # Safety
/// The processor has the instructions of `B`.
#[inline(always)]
pub(super) unsafe fn columns<B: Block>(columns: &mut Columns, bytes: &[u8]) {
    let Columns { mut longest, mut column } = *columns;
    let blocks = Blocks::of(bytes);
    for i in 0..blocks.count {
        // The zeros that fill up the last block have no width.
        // SAFETY: `i` is a block of the slice; the caller's contract.
        let (tabs, returns, mut wide) = unsafe {
            let block = B::load(blocks.at(i));
            let returns = block.equal(b'\n') | block.between(b'\x0c', b'\r');
            (block.equal(b'\t'), returns, block.between(b' ', b'~'))
        };
        let mut jumps = tabs | returns;
        while jumps != 0 {
            let jump = jumps & jumps.wrapping_neg();
            let before = jump - 1;
            column += u64::from((wide & before).count_ones());
            wide &= !before;
            if returns & jump != 0 {
                longest = longest.max(column);
                column = 0;
            } else {
                column = (column | 7) + 1;
            }
            jumps &= jumps - 1;
        }
        column += u64::from(wide.count_ones());
    }
    *columns = Columns { longest, column };
}

/// Defines the functions that call the loops with the instructions of one kind of block.
macro_rules! entry_points {
    ($block:ty $(, $features:literal)?) => {
        /// # Safety
        /// The processor has the instructions of the block.
        $(#[target_feature(enable = $features)])?
        pub(in super::super) unsafe fn count(byte: u8, bytes: &[u8]) -> u64 {
            // SAFETY: the caller's contract.
            unsafe { $crate::scan::kernels::loops::count::<$block>(byte, bytes) }
        }

        /// # Safety
        /// The processor has the instructions of the block.
        $(#[target_feature(enable = $features)])?
        pub(in super::super) unsafe fn words(words: &mut $crate::scan::kernels::Words, bytes: &[u8]) {
            // SAFETY: the caller's contract.
            unsafe { $crate::scan::kernels::loops::words::<$block>(words, bytes) }
        }

        /// # Safety
        /// The processor has the instructions of the block.
        $(#[target_feature(enable = $features)])?
        pub(in super::super) unsafe fn columns(columns: &mut $crate::scan::kernels::Columns, bytes: &[u8]) {
            // SAFETY: the caller's contract.
            unsafe { $crate::scan::kernels::loops::columns::<$block>(columns, bytes) }
        }
    };
}
pub(super) use entry_points;
