//! Files, directories and pipes between hosts: what `eagre send` and `eagre receive` do.
//!
//! ```no_run
//! use eagre_net::transfer::{Receiver, Sender};
//! use eagre_net::{Connector, Listener, Options};
//!
//! // The one host.
//! let listener = Listener::bind("127.0.0.1:7373", Options::new())?;
//! Receiver::into_directory("/backup")?.receive(&listener, &mut |_| ())?;
//!
//! // The other host.
//! let mut sender = Sender::new();
//! sender.add("photos")?;
//! sender.send(&Connector::new("127.0.0.1:7373")?, &mut |_| ())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file that is received appears complete, checked (BLAKE3) and on the disk, or not at all. Who calls whom does not decide who
//! sends: each side takes a [`Connector`](crate::Connector) or a [`Listener`](crate::Listener).
//!
//! | module | holds |
//! |---|---|
//! | `sender`, `receiver` | the two sides |
//! | `talk` | the streams of a transfer |
//! | `walk` | the files of the side that sends |
//! | `folders`, `incoming`, `finishing` | the directories and files of the side that receives |
//! | `list`, `have`, `content`, `done` | what the two sides say to each other |
//! | `packing`, `stripes` | compression, and several streams, on the way |
//! | `name`, `wire` | checks of what the other side says |
//! | `event`, `failure` | what is told |
//! | `stop` | ending a transfer from another thread |
#![forbid(unsafe_code)]

mod content;
mod done;
mod event;
mod failure;
mod finishing;
mod folders;
mod have;
mod incoming;
mod list;
mod name;
mod packing;
mod receiver;
mod sender;
mod stop;
mod stripes;
mod talk;
mod walk;
mod wire;

pub use event::{Event, Transferred, Watch};
pub use failure::TransferError;
pub use packing::Compression;
pub use receiver::Receiver;
pub use sender::Sender;
pub use stop::Stop;
pub use talk::Peer;

/// Reads bytes as each of the parts that the other side may say. For fuzzing.
#[doc(hidden)]
pub fn read_anything(bytes: &[u8]) {
    let Some((&entries, bytes)) = bytes.split_first() else { return };
    let entries = usize::from(entries);
    if let Ok(list) = list::List::read(&mut &bytes[..], &mut 0) {
        for entry in list.entries {
            if let list::Entry::File { name, .. } | list::Entry::Enter { name } | list::Entry::Link { name, .. } = entry
            {
                assert!(!name.contains(&b'/') && !matches!(&name[..], b"" | b"." | b".."));
            }
        }
    }
    let _ = have::read(&mut &bytes[..], entries);
    if let Ok(done) = done::Done::read(&mut &bytes[..], entries) {
        assert!(
            done.told.iter().all(|failed| (failed.entry as usize) < entries && !failed.why.contains(char::is_control))
        );
    }
    let (mut from, mut unpacker) = (bytes, packing::Unpacker::default());
    while let Ok(chunk) = content::Chunk::read(&mut from) {
        let (length, packed) = match chunk {
            content::Chunk::Raw(raw) => (raw, None),
            content::Chunk::Packed { how, raw, packed } => (packed, Some((how, raw))),
            _ => continue,
        };
        let mut piece = Vec::new();
        let take = |bytes: &[u8]| {
            piece.extend_from_slice(bytes);
            std::io::Result::Ok(())
        };
        if content::pass(&mut from, length, take).is_err() {
            return;
        }
        if let Some((how, raw)) = packed
            && let Ok(unpacked) = unpacker.unpack(how, raw, &piece)
        {
            assert_eq!(unpacked.len(), raw);
        }
    }
}
