//! The C interface of Eagre: `include/eagre.h`, `libeagre.so` and `libeagre.a`.
//!
//! The header is made from these files by cbindgen, so their documentation speaks to C programmers. What is here
//! only translates: arguments in, a status out. Three rules hold in every function:
//!
//! 1. *No panic crosses.* Everything runs in `status::status` or `status::value`, which catch it.
//! 2. *No null pointer crashes.* Arguments are checked in `arguments`, and a null one is `EAGRE_INVALID`.
//! 3. *Structs say how large they are.* A struct that C fills starts with its size and version; one that the library
//!    fills comes with the size the caller has room for. So old programs work with new libraries.
//!
//! # Layers
//! A module uses only modules on lines below its own:
//!
//! ```text
//! offers
//! transfers
//! callbacks · file · gather · merge · network · open · process · sort_stream
//! boundaries · count · find · partition · sort_file · vector
//! reader · writer
//! blocks · control · file_sort_options · network_options · sort · text
//! format · hosts · options
//! pool · stats · text_order
//! ends · versioned
//! arguments · pair
//! status
//! ```
//!
//! # Safety
//! What a C caller must promise is what the header says of each function: pointers are null, or valid for what the
//! function does with them; a handle is used by one thread at a time and not after it was closed.

// The header is the contract; a `# Safety` section in each comment would only repeat the rule above in it.
#![allow(clippy::missing_safety_doc)]

// The header has its functions in the order of these lines, a heading for each group: see tests/header.rs. Empty lines keep
// rustfmt from sorting them.
mod arguments;
mod ends;
mod hosts;
mod status;
mod versioned;

mod open;
mod options;
mod pair;

mod writer;

mod reader;

mod blocks;

mod callbacks;

mod control;
mod stats;

mod file;

mod network_options;

mod network;

mod transfers;

mod offers;

mod process;

mod pool;
mod vector;

mod sort;

mod partition;

mod format;
mod text_order;

mod file_sort_options;

mod sort_file;
mod sort_stream;

mod gather;

mod boundaries;
mod merge;

mod count;
mod find;

mod text;

pub use blocks::*;
pub use boundaries::*;
pub use callbacks::*;
pub use control::*;
pub use count::*;
pub use file::*;
pub use file_sort_options::*;
pub use find::*;
pub use format::*;
pub use gather::*;
pub use merge::*;
pub use network::*;
pub use network_options::*;
pub use offers::*;
pub use open::*;
pub use options::*;
pub use pair::{EagreMover, EagreTrap};
pub use partition::*;
pub use pool::*;
pub use process::*;
pub use reader::*;
pub use sort::*;
pub use sort_file::*;
pub use sort_stream::*;
pub use stats::*;
pub use status::{EagreStatus, eagre_last_error, eagre_last_status, eagre_strerror};
pub use text::*;
pub use transfers::*;
pub use vector::*;
pub use writer::*;
