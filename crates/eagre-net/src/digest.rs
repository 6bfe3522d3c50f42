//! The digest of a whole stream.

use crate::frame::DIGEST;

/// The BLAKE3 digest of a stream, as far as it has come. None is made of a stream whose contents have digests of their own, as files
/// do: making one takes longer than sending does.
pub(crate) struct Digest(Option<blake3::Hasher>);

impl Digest {
    pub(crate) fn new(wanted: bool) -> Digest {
        Digest(wanted.then(blake3::Hasher::new))
    }

    /// Makes none after all, if the other side wants none. It says so before the first byte.
    pub(crate) fn unless(&mut self, unwanted: bool) {
        if unwanted {
            self.0 = None;
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.0 {
            hasher.update(bytes);
        }
    }

    /// The digest of all so far; zeros if none is made.
    pub(crate) fn so_far(&self) -> [u8; DIGEST] {
        self.0.as_ref().map_or([0; DIGEST], |hasher| *hasher.finalize().as_bytes())
    }
}
