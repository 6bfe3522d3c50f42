//! A profile as text: lines of words, the first of which says what follows.
//!
//! ```text
//! eagre device profile 1
//! kernel 6.12.4
//! device 254:0 ext4 270552276992
//! ...
//! rate random-read 4096 16 294912000
//! ```
//!
//! The reader is strict: a text that it does not understand is no profile. Then the device is measured again.

use std::fmt::{self, Write};

use super::identity::Identity;
use super::profile::{Measured, Profile, Thoroughness};

/// The first line. Its number changes with the format, and with what the numbers mean.
const HEADER: &str = "eagre device profile 1";
/// The most measurements that are read.
const MOST: usize = 1000;

impl fmt::Display for Profile {
    /// The text that [`Profile::save`] writes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { major, minor, filesystem, bytes, in_memory, dax, direct } = &self.identity;
        writeln!(f, "{HEADER}\nkernel {}\ndevice {major}:{minor} {filesystem} {bytes}", self.kernel)?;
        writeln!(f, "memory {in_memory}\ndax {dax}\ndirect {}", direct.unwrap_or(0))?;
        let thoroughness = match self.thoroughness {
            Thoroughness::Probe => "probe",
            Thoroughness::Full => "full",
        };
        writeln!(f, "taken {}\nmeasured {thoroughness}\nthreads {}", self.taken, self.threads)?;
        if let Some(name) = &self.emulated {
            writeln!(f, "emulated {name}")?;
        }
        for Measured { access, request, depth, rate } in &self.measured {
            writeln!(f, "rate {access} {request} {depth} {rate:.0}")?;
        }
        f.write_char('\n')
    }
}

/// The profile that a text holds. `None` if it is not one, is cut short, or has another version.
pub(super) fn parse(text: &str) -> Option<Profile> {
    // The empty line at the end says that nothing is missing.
    let mut lines = text.strip_suffix("\n\n")?.lines();
    (lines.next()? == HEADER).then_some(())?;
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let kernel = field("kernel")?.to_owned();
    let device: Vec<&str> = field("device")?.split(' ').collect();
    let [numbers, filesystem, bytes] = device[..] else { return None };
    let (major, minor) = numbers.split_once(':')?;
    let identity = Identity {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        filesystem: filesystem.to_owned(),
        bytes: bytes.parse().ok()?,
        in_memory: field("memory")?.parse().ok()?,
        dax: field("dax")?.parse().ok()?,
        direct: Some(field("direct")?.parse().ok()?).filter(|&alignment| alignment > 0),
    };
    let taken = field("taken")?.parse().ok()?;
    let thoroughness = match field("measured")? {
        "probe" => Thoroughness::Probe,
        "full" => Thoroughness::Full,
        _ => return None,
    };
    let threads = field("threads")?.parse().ok()?;
    let mut rest = lines.peekable();
    let emulated = rest.next_if(|line| line.starts_with("emulated ")).map(|line| line["emulated ".len()..].to_owned());
    let measured: Option<Vec<Measured>> = rest.take(MOST).map(measurement).collect();
    Some(Profile { identity, kernel, taken, thoroughness, threads, emulated, measured: measured? })
}

fn measurement(line: &str) -> Option<Measured> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["rate", access, request, depth, rate] = words[..] else { return None };
    let rate: f64 = rate.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)?;
    let (request, depth): (u64, u32) = (request.parse().ok()?, depth.parse().ok()?);
    (request > 0 && depth > 0).then_some(Measured { access: access.parse().ok()?, request, depth, rate })
}
