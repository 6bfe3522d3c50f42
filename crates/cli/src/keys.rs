//! The parts that `eagre sort` and `eagre partition` share: types of keys, files of keys, and whether they fit memory.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Command, ValueEnum};
use eagre::doctor::{self, Available, Bound};
use eagre::external::Input;
use eagre::file::ReadOptions;
use eagre::keys::{self, FileKey, ReadError};
use eagre::scan;
use eagre::{RewireErrorKind, RewiredVec};

use crate::console::Console;
use crate::exit::Failure;
use crate::inputs::Argument;
use crate::message::{self, Message};
use crate::target::Target;
use crate::units;
use crate::usage::Unfit;

/// The type of the keys in a file: numbers, least significant byte first, or pairs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
    U128,
    I128,
    #[value(name = "u32:u32")]
    PairU32,
    #[value(name = "u64:u64")]
    PairU64,
}

/// The addresses that reading and writing take beside the keys.
const STREAMS: u64 = 8 << 20;

/// Evaluates an expression in which `$key` is the Rust type of a [`KeyType`].
macro_rules! with_key {
    ($type:expr, $key:ident => $body:expr) => {
        with_key!($type, $key => $body,
            U8: u8, I8: i8, U16: u16, I16: i16, U32: u32, I32: i32, F32: f32, U64: u64, I64: i64, F64: f64,
            U128: u128, I128: i128, PairU32: (u32, u32), PairU64: (u64, u64))
    };
    ($type:expr, $key:ident => $body:expr, $($name:ident: $rust:ty),*) => {
        match $type {
            $($crate::keys::KeyType::$name => {
                type $key = $rust;
                $body
            })*
        }
    };
}
pub(crate) use with_key;

/// Evaluates an expression in which `$key` is the Rust type of a [`KeyType`], and `$part` the type of its boundaries. For
/// types that cannot be partitioned, evaluates another expression with `$other`.
macro_rules! with_item {
    ($type:expr, $key:ident, $part:ident => $body:expr, $other:ident => $otherwise:expr) => {
        with_item!($type, $key, $part => $body, $other => $otherwise,
            U8: u8, u8; I8: i8, i8; U16: u16, u16; I16: i16, i16; U32: u32, u32; I32: i32, i32; F32: f32, f32; U64: u64, u64; I64: i64, i64; F64: f64, f64;
            PairU32: (u32, u32), u32; PairU64: (u64, u64), u64)
    };
    ($type:expr, $key:ident, $part:ident => $body:expr, $other:ident => $otherwise:expr,
     $($name:ident: $rust:ty, $of:ty);*) => {
        match $type {
            $($crate::keys::KeyType::$name => {
                type $key = $rust;
                type $part = $of;
                $body
            })*
            $other => $otherwise,
        }
    };
}
pub(crate) use with_item;

impl KeyType {
    /// How many bytes a key takes.
    pub(crate) fn width(self) -> u64 {
        with_key!(self, K => K::WIDTH as u64)
    }

    pub(crate) fn is_pair(self) -> bool {
        with_key!(self, K => K::IS_PAIR)
    }

    /// Its name in arguments.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The message for keys that cannot be partitioned.
pub(crate) fn not_partitioned(key: KeyType) -> String {
    let message =
        Message::new("partition", "--keys", format!("keys of {} can be sorted, but not partitioned", key.name()));
    message.cure(Some("name a type of up to 64 bits, or pairs")).to_string()
}

/// Parses the types of keys that can be partitioned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionKey;

impl PartitionKey {
    fn names() -> impl Iterator<Item = PossibleValue> {
        let accepted = |key: &&KeyType| !matches!(key, KeyType::U128 | KeyType::I128);
        KeyType::value_variants().iter().filter(accepted).filter_map(ValueEnum::to_possible_value)
    }
}

impl TypedValueParser for PartitionKey {
    type Value = KeyType;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<KeyType, clap::Error> {
        let known = value.to_str().and_then(|name| KeyType::from_str(name, false).ok());
        match known {
            Some(key @ (KeyType::U128 | KeyType::I128)) => {
                let message = not_partitioned(key);
                let refuse = move |_: String| Err::<KeyType, _>(Unfit(message.clone()));
                StringValueParser::new().try_map(refuse).parse_ref(command, argument, value)
            }
            _ => PossibleValuesParser::new(PartitionKey::names())
                .try_map(|name| KeyType::from_str(&name, false))
                .parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(PartitionKey::names()))
    }
}

/// Files of keys, and their sizes.
pub(crate) struct KeyFiles {
    files: Vec<(Argument, Option<u64>)>,
    /// The size of all files, if it is known.
    pub(crate) bytes: Option<u64>,
    what: &'static str,
}

impl KeyFiles {
    /// Checks that the files exist and hold whole keys.
    pub(crate) fn look(what: &'static str, inputs: Vec<Argument>, keys: KeyType) -> Result<KeyFiles, Failure> {
        let mut files = Vec::with_capacity(inputs.len());
        for input in inputs {
            let size = input.bytes_left().map_err(|error| unreadable(what, &input, &error))?;
            // What is in a compressed file is known when it has been read.
            let size = size.filter(|_| !input.may_be_unpacked());
            if let Some(bytes) = size.filter(|bytes| !bytes.is_multiple_of(keys.width())) {
                let error = ReadError::Remainder { bytes, width: keys.width() as usize };
                return Err(why_unread(what, &input, error));
            }
            files.push((input, size));
        }
        let bytes = files.iter().try_fold(0u64, |sum, (_, size)| sum.checked_add((*size)?));
        Ok(KeyFiles { files, bytes, what })
    }

    /// Whether the keys are typed on a terminal.
    pub(crate) fn is_typed(&self) -> bool {
        self.files.iter().any(|(input, _)| input.is_typed())
    }

    /// The input that is the same file, under whatever name.
    pub(crate) fn find(&self, there: &Metadata) -> Option<&Argument> {
        let is_it = |input: &Argument| {
            input.metadata().is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (there.dev(), there.ino()))
        };
        self.files.iter().map(|(input, _)| input).find(|input| is_it(input))
    }

    /// Whether one of them is the file at a target.
    pub(crate) fn hold(&self, target: &Target) -> bool {
        target.metadata().is_some_and(|there| self.find(&there).is_some())
    }

    /// Opens all files, to be sorted: what is in them, if they are compressed.
    pub(crate) fn inputs(&self) -> Result<Vec<Input>, Failure> {
        let open = |input: &Argument| {
            let content = input.open_scan().map_err(|error| unreadable(self.what, input, &error))?;
            Ok(Input::new(input.place(), content))
        };
        self.files.iter().map(|(input, _)| open(input)).collect()
    }

    /// The name of all files together, in messages.
    pub(crate) fn place(&self) -> String {
        match &self.files[..] {
            [(one, _)] => one.place(),
            many => format!("{} files", many.len()),
        }
    }

    /// Checks that there is memory for all keys and `beside` bytes more. If that is unknown, reading finds out.
    pub(crate) fn check_memory(&self, beside: u64) -> Result<(), Failure> {
        let (Some(bytes), Some(Available { bytes: have, bound, .. })) = (self.bytes, doctor::available_memory()) else {
            return Ok(());
        };
        let need = match bound {
            // A key has two addresses: in the pool of memory, and where it is sorted.
            Bound::AddressSpace => bytes.saturating_mul(2).saturating_add(STREAMS),
            _ => bytes,
        };
        let need = need.saturating_add(beside);
        if need <= have {
            return Ok(());
        }
        let (kind, cure) = match bound {
            Bound::AddressSpace => ("of addresses", "ulimit -v unlimited"),
            Bound::ControlGroup => (
                "in the control group",
                "raise MemoryMax= of the service, or --memory of the container, or process fewer keys at a time",
            ),
            _ => ("of memory", "use a machine with more memory, or process fewer keys at a time"),
        };
        let why = format!("needs {} {kind}, and {} are available", units::bytes(need), units::bytes(have));
        Err(Failure::Trouble(Message::new(self.what, self.place(), why).cure(Some(cure)).to_string()))
    }

    /// Reads all keys into memory. The pool of the vector may hold `spare` bytes more.
    pub(crate) fn read<K: FileKey>(&self, spare: u64, console: &mut Console) -> Result<RewiredVec<K>, Failure> {
        let most = self.bytes.and_then(|bytes| usize::try_from(bytes / K::WIDTH as u64).ok());
        let mut keys = keys::vector(most, spare).map_err(|error| Failure::Trouble(format!("eagre: {error}")))?;
        for (input, size) in &self.files {
            let before = size_of_val(&keys[..]) as u64;
            let mut reader = open(self.what, input, *size)?;
            keys::read(&mut reader, &mut keys, |done| console.advance(before + done))
                .map_err(|error| self.why_unread(input, error, size_of_val(&keys[..]) as u64))?;
        }
        Ok(keys)
    }

    /// Opens the only file.
    pub(crate) fn open_one(&self) -> Result<(&Argument, eagre::Reader), Failure> {
        match &self.files[..] {
            [(input, size)] => Ok((input, open(self.what, input, *size)?)),
            _ => {
                let message = Message::new(self.what, self.place(), "one at a time can be looked at");
                Err(Failure::Trouble(message.cure(Some("name one")).to_string()))
            }
        }
    }

    fn why_unread(&self, input: &Argument, error: ReadError, read: u64) -> Failure {
        let why = |what| format!("more than {}, which is all that {what}", units::bytes(read));
        let (why, cure) = match &error {
            ReadError::Memory(error) if self.bytes.is_none() && is_used_up(error.kind()) => {
                match doctor::available_memory() {
                    Some(Available { bound: Bound::AddressSpace, .. }) => {
                        (why("there are addresses for"), "ulimit -v unlimited")
                    }
                    _ => {
                        (why("there is memory for"), "use a machine with more memory, or process fewer keys at a time")
                    }
                }
            }
            _ => return why_unread(self.what, input, error),
        };
        Failure::Trouble(Message::new(self.what, self.place(), why).cure(Some(cure)).to_string())
    }
}

/// Whether a vector has used up its memory.
fn is_used_up(kind: RewireErrorKind) -> bool {
    matches!(kind, RewireErrorKind::Full | RewireErrorKind::OutOfBlocks | RewireErrorKind::OutOfAddresses)
}

/// Why keys could not be read from an input.
pub(crate) fn why_unread(what: &str, input: &Argument, error: ReadError) -> Failure {
    Failure::Trouble(match error {
        ReadError::Remainder { bytes, width } => {
            let whole = bytes - bytes % width as u64;
            let cure = match input.path() {
                Some(_) => format!("name the right --keys, or cut it with 'truncate -s {whole}'"),
                None => "name the right --keys".to_owned(),
            };
            Message::new(what, input.place(), error.to_string()).cure(Some(cure)).to_string()
        }
        error => message::of_file(&io::Error::from(error)),
    })
}

fn unreadable(what: &str, input: &Argument, error: &io::Error) -> Failure {
    Failure::Trouble(Message::from_io(what, input.place(), error).to_string())
}

fn open(what: &str, input: &Argument, size: Option<u64>) -> Result<eagre::Reader, Failure> {
    let file = match input.open_scan().map_err(|error| unreadable(what, input, &error))? {
        scan::Input::File(file) => file,
        scan::Input::Stream(content) => return Ok(content),
        _ => return Err(unreadable(what, input, &io::ErrorKind::Unsupported.into())),
    };
    let mut options = ReadOptions::new().explicit();
    if let Some(size) = size {
        options = options.length(size);
    }
    options.read(file, input.place()).map_err(|error| Failure::Trouble(message::of_file(&error)))
}
