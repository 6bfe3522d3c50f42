//! The arguments that say what a file holds: `--gensort`, `--record`, `--klv`, `--keys` and `--lines`.

use std::num::NonZeroUsize;

use eagre::records::{Fixed, KeyRange, Klv, Lines};

use crate::exit::Failure;
use crate::keys::KeyType;
use crate::message::Message;

/// What a file holds: for sorting, checking, and whatever else takes files of records.
#[derive(clap::Args)]
pub(crate) struct Kind {
    /// Files hold records of the sort benchmark: 100 bytes, the first ten of which are the key
    #[arg(long, group = "format")]
    pub(crate) gensort: bool,

    /// Files hold records of LEN bytes
    #[arg(long, value_name = "LEN", group = "format")]
    pub(crate) record: Option<NonZeroUsize>,

    /// Files hold keys of KEYLEN bytes, each followed by the length of its value, a number of LENBYTES bytes, and the value; least significant byte first unless 'be' follows
    #[arg(long, value_name = "KEYLEN:LENBYTES", value_parser = str::parse::<Klv>, group = "format")]
    pub(crate) klv: Option<Klv>,

    /// Files hold numbers of TYPE, least significant byte first
    #[arg(long, value_name = "TYPE", group = "format")]
    pub(crate) keys: Option<KeyType>,

    /// Files hold lines of text
    #[arg(long, group = "format")]
    pub(crate) lines: bool,

    /// NaN of floating-point keys come behind all numbers, in descending order too; then NaN equals NaN, and -0 equals 0
    #[arg(long)]
    pub(crate) nan_last: bool,
}

impl Kind {
    /// Records whose NaN come where the command `what` was asked to put them. `reverse` says that it sorts in descending order.
    pub(crate) fn with_nan(&self, what: &str, format: Fixed, reverse: bool) -> Result<Fixed, Failure> {
        if !self.nan_last {
            return Ok(format);
        }
        format.nan_last(reverse).ok_or_else(|| Kind::without_nan(what))
    }

    /// Fails if NaN were to come last of what has none.
    pub(crate) fn refuse_nan(&self, what: &str) -> Result<(), Failure> {
        if self.nan_last { Err(Kind::without_nan(what)) } else { Ok(()) }
    }

    fn without_nan(what: &str) -> Failure {
        let message = Message::new(what, "--nan-last", "no key is a floating-point number");
        Failure::Trouble(
            message.cure(Some("use it with --keys f32 or f64, or with such a key of a --record")).to_string(),
        )
    }
}

/// What a file holds, and how it is ordered.
#[derive(clap::Args)]
pub(crate) struct Formats {
    #[command(flatten)]
    kind: Kind,

    /// The key of a --record, OFFSET:LENGTH or OFFSET:TYPE, as 0:10 or 8:i32be; ':desc' behind it reverses its order. The first of several counts most [default: the whole record]
    #[arg(short, long = "key", value_name = "KEY", value_parser = str::parse::<KeyRange>, requires = "record")]
    keys_of_record: Vec<KeyRange>,

    /// Lines end with a NUL instead of a newline
    #[arg(short, long, requires = "lines")]
    zero_terminated: bool,
}

/// The format that was chosen.
#[derive(Debug)]
pub(crate) enum Chosen {
    Gensort,
    Fixed(Fixed),
    Klv(Klv),
    Lines(Lines),
}

impl Formats {
    /// The format for the command `what`, which looks for descending order if `reverse` says so. `None` if none is named.
    pub(crate) fn chosen(&self, what: &str, reverse: bool) -> Result<Option<Chosen>, Failure> {
        let failed = |option: &str, why: String| Failure::Trouble(Message::new(what, option, why).to_string());
        if let Some(size) = self.kind.record {
            let format = Fixed::new(size.get(), &self.keys_of_record).map_err(|why| failed("--key", why))?;
            return Ok(Some(Chosen::Fixed(self.kind.with_nan(what, format, reverse)?)));
        }
        if let Some(keys) = self.kind.keys {
            let format = Fixed::numbers(&keys.name()).map_err(|why| failed("--keys", why))?;
            return Ok(Some(Chosen::Fixed(self.kind.with_nan(what, format, reverse)?)));
        }
        self.kind.refuse_nan(what)?;
        Ok(Some(if self.kind.gensort {
            Chosen::Gensort
        } else if let Some(klv) = self.kind.klv {
            Chosen::Klv(klv)
        } else if self.kind.lines {
            Chosen::Lines(Lines::ended_by(if self.zero_terminated { 0 } else { b'\n' }))
        } else {
            return Ok(None);
        }))
    }
}
