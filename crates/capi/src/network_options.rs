//! How streams between hosts are to be: the struct that C fills.

use crate::arguments;
use crate::hosts::{Options, Secret, Wanted};
use crate::options::{EAGRE_UNKNOWN, EagreOptions};
use crate::pair::block_size;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, c_void};
use std::fmt::Arguments;
use std::mem::{offset_of, size_of};
use std::time::Duration;

/// The version of EagreNetworkOptions in this header.
pub const EAGRE_NETWORK_OPTIONS_VERSION: u32 = 1;

/// EagreNetworkOptions.flags: plain TCP to and from everybody, where no key is given. Whoever is on the way can read and change
/// what flows; whoever can reach the port can send or receive.
pub const EAGRE_INSECURE_PLAIN: u32 = 1;

/// How streams between hosts are to be, and how the two sides know each other. Both sides have options of their own; only their
/// secrets must agree.
///
/// Fill it with eagre_network_options_default, then change what should be different. Set at most one of token, token_file, and
/// identity with peers; the connection is TLS 1.3 then, in which both sides prove who they are. Without them it is plain TCP, and
/// addresses other than loopback are EAGRE_SETTING.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreNetworkOptions {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_NETWORK_OPTIONS_VERSION.
    pub version: u32,
    /// A secret that both sides have: at least 16 random bytes. Or null, the default. Copied.
    pub token: *const c_void,
    /// How many bytes token has.
    pub token_size: usize,
    /// A file with such a secret, which only its owner may read; line ends at its end do not count. Or null, the default.
    pub token_file: *const c_char,
    /// The file of this side's key, as 'eagre id' makes it, or null, the default. Needs peers.
    pub identity: *const c_char,
    /// The fingerprints of the keys that are trusted ("sha256:" and 64 hexadecimal digits), or null, the default. Copied.
    pub peers: *const *const c_char,
    /// How many fingerprints peers has. Default 0.
    pub peer_count: u32,
    /// EAGRE_INSECURE_PLAIN, or 0, the default.
    pub flags: u32,
    /// For how long a connection that cannot be made, or has broken, is tried again, in nanoseconds. Default 30 s.
    pub retry_ns: u64,
    /// For how long the other side may be silent before the connection counts as broken, in nanoseconds. Both sides need about the
    /// same. Default 15 s; at least 200 ms.
    pub silence_ns: u64,
    /// How many bytes may be on their way: the writer's side keeps them until the other side has them. 2 to 56 blocks. A link
    /// of so many bytes per round trip is filled. 0, the default: 16 MiB, and 4 MiB where the other side is on this machine.
    pub window: u64,
    /// The blocks of this side's streams, in bytes: a power of two from 64 KiB to 64 MiB. 0: the default, 2 MiB.
    pub block_size: u64,
    /// The length of a stream in bytes, if its writer knows it beforehand. EAGRE_UNKNOWN, the default, if not.
    pub length: u64,
    /// The most bytes a second that this side sends, over all streams of a listener together. 0, the default: no limit.
    pub limit: u64,
    /// Other settings of this side's streams, or null, the default: trap, mover, pool, lookback of a reader, timeout_ns, flags. The
    /// other fields of them do not count.
    pub stream: *const EagreOptions,
    /// How blocks travel by RDMA, or null, the default: beside the connection, which stays what it is. A provider of libfabric's (tcp,
    /// verbs or shm), then, behind commas, what shall not be as usual: pool (the default), each-block, pipelined-copy or copy; unchecked;
    /// busy. As "verbs" or "tcp,copy". Both sides must say the same provider and algorithm. Blocks are not encrypted on their way.
    pub rdma: *const c_char,
}

// SAFETY: numbers and pointers, with size and version first.
unsafe impl Versioned for EagreNetworkOptions {
    const NAME: &'static str = "EagreNetworkOptions";
    const FILLED_BY: &'static str = "eagre_network_options_default";
    const VERSION: u32 = EAGRE_NETWORK_OPTIONS_VERSION;
    const SMALLEST: usize = offset_of!(EagreNetworkOptions, stream) + size_of::<*const EagreOptions>();
    const DEFAULT: EagreNetworkOptions = EagreNetworkOptions {
        size: size_of::<EagreNetworkOptions>() as u32,
        version: EAGRE_NETWORK_OPTIONS_VERSION,
        token: std::ptr::null(),
        token_size: 0,
        token_file: std::ptr::null(),
        identity: std::ptr::null(),
        peers: std::ptr::null(),
        peer_count: 0,
        flags: 0,
        retry_ns: 30_000_000_000,
        silence_ns: 15_000_000_000,
        window: 0,
        block_size: 0,
        length: EAGRE_UNKNOWN,
        limit: 0,
        stream: std::ptr::null(),
        rdma: std::ptr::null(),
    };
}

fn setting(text: Arguments<'_>) -> Fault {
    Fault::new(EagreStatus::EagreSetting, format_args!("network options: {text}"))
}

impl EagreNetworkOptions {
    /// What the library has for these options.
    ///
    /// # Safety
    /// As [`versioned::read`]; token is null or so many bytes, peers are null or so many C strings, stream is null or options, and
    /// the rest are null or C strings.
    pub(crate) unsafe fn read(from: *const EagreNetworkOptions) -> Result<Options, Fault> {
        // SAFETY: the caller's promise.
        let options: EagreNetworkOptions = unsafe { versioned::read(from)? };
        let unknown = options.flags & !EAGRE_INSECURE_PLAIN;
        if unknown != 0 {
            return Err(setting(format_args!("unknown flags {unknown:#x}")));
        }
        let window = usize::try_from(options.window)
            .map_err(|_| setting(format_args!("window is {}: more than there are addresses", options.window)))?;
        Options::new(Wanted {
            // SAFETY: the caller's promise.
            secret: unsafe { options.secret()? },
            retry: Duration::from_nanos(options.retry_ns),
            silence: Duration::from_nanos(options.silence_ns),
            window: (window != 0).then_some(window),
            block_size: (options.block_size != 0).then(|| block_size(options.block_size)).transpose()?,
            length: (options.length != EAGRE_UNKNOWN).then_some(options.length),
            limit: (options.limit != 0).then_some(options.limit),
            stream: match options.stream.is_null() {
                true => None,
                // SAFETY: the caller's promise.
                false => Some(unsafe { EagreOptions::builder(options.stream)? }),
            },
            // SAFETY: the caller's promise.
            rdma: unsafe { arguments::text(options.rdma) },
        })
    }

    /// # Safety
    /// As [`EagreNetworkOptions::read`].
    unsafe fn secret<'a>(&self) -> Result<Secret<'a>, Fault> {
        let keys = !self.identity.is_null() || self.peer_count != 0;
        let plain = self.flags & EAGRE_INSECURE_PLAIN != 0;
        let given = [!self.token.is_null(), !self.token_file.is_null(), keys, plain];
        if given.iter().filter(|&&given| given).count() > 1 {
            return Err(setting(format_args!(
                "set one of token, token_file, identity with peers, and EAGRE_INSECURE_PLAIN, not several"
            )));
        }
        // SAFETY: the caller's promise.
        unsafe {
            Ok(if !self.token.is_null() {
                Secret::Token(arguments::bytes(self.token.cast(), self.token_size)?)
            } else if !self.token_file.is_null() {
                Secret::TokenFile(arguments::path(self.token_file)?)
            } else if keys {
                if self.identity.is_null() {
                    return Err(setting(format_args!(
                        "peers without an identity; name the file of this side's key too"
                    )));
                }
                Secret::Keys(arguments::path(self.identity)?, self.fingerprints()?)
            } else if plain {
                Secret::InsecurePlain
            } else {
                Secret::Loopback
            })
        }
    }

    /// # Safety
    /// As [`EagreNetworkOptions::read`].
    unsafe fn fingerprints(&self) -> Result<Vec<String>, Fault> {
        if self.peers.is_null() && self.peer_count != 0 {
            return Err(Fault::invalid("network options: peers is a null pointer"));
        }
        let peer = |index: usize| {
            // SAFETY: the caller's promise.
            let text = unsafe { arguments::text(*self.peers.add(index)) };
            text.map(|text| text.into_owned())
                .ok_or_else(|| Fault::invalid("network options: a peer is a null pointer"))
        };
        (0..self.peer_count as usize).map(peer).collect()
    }
}

/// Fills options with the defaults. Call it as eagre_network_options_default(&options, sizeof options).
///
/// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreNetworkOptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_network_options_default(options: *mut EagreNetworkOptions, size: usize) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(options, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(EagreNetworkOptions::SMALLEST, 112);
        assert_eq!(size_of::<EagreNetworkOptions>(), 112 + 8);
    }
}
