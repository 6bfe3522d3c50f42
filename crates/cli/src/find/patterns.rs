//! The patterns: PATTERN, `-e`, `-f` and `--hex`.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

use eagre::find::Finder;

use crate::exit::Failure;
use crate::inputs::Argument;
use crate::message::Message;
use crate::name;

/// The arguments that give patterns.
#[derive(clap::Args)]
pub(super) struct Wanted {
    /// Find PATTERN; repeat the option to find any of several patterns
    #[arg(short = 'e', long = "pattern", value_name = "PATTERN", allow_hyphen_values = true)]
    listed: Vec<OsString>,

    /// Find any line of FILE; may be repeated; - is standard input
    #[arg(short = 'f', long = "file", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    from: Vec<OsString>,

    /// Find the bytes given in hexadecimal, two digits per byte; may be repeated
    #[arg(long, value_name = "HEX")]
    hex: Vec<String>,

    /// The byte string to find
    #[arg(value_name = "PATTERN", required_unless_present_any = ["listed", "from", "hex"])]
    pattern: Option<OsString>,
}

impl Wanted {
    /// If patterns are given by options, the first other argument is a file and not a pattern.
    pub(super) fn take_misplaced_file(&mut self) -> Option<OsString> {
        let elsewhere = !(self.listed.is_empty() && self.from.is_empty() && self.hex.is_empty());
        if elsewhere { self.pattern.take() } else { None }
    }

    /// The finder for all these patterns.
    pub(super) fn finder(self, ignore_case: bool) -> Result<Finder<'static>, Failure> {
        let mut patterns = Vec::new();
        for pattern in self.pattern.into_iter().chain(self.listed) {
            if pattern.is_empty() {
                return Err(trouble("pattern", "it is empty, and would match everywhere", "give at least one byte"));
            }
            patterns.push(pattern.into_vec());
        }
        for file in &self.from {
            patterns.extend(lines_of(Argument::of(file))?);
        }
        for hex in &self.hex {
            patterns.push(bytes_of(hex)?);
        }
        let builder = patterns.into_iter().fold(Finder::builder(), |builder, pattern| builder.pattern(pattern));
        let cure = "search for fewer patterns at a time";
        builder.case_insensitive(ignore_case).build().map_err(|error| trouble("patterns", &error.to_string(), cure))
    }
}

/// The lines of a file, as for `grep -f`. Text after the last newline is a line unless it is empty.
fn lines_of(file: Argument) -> Result<Vec<Vec<u8>>, Failure> {
    let mut text = Vec::new();
    file.open()
        .and_then(|mut file| file.read_to_end(&mut text))
        .map_err(|error| Failure::Trouble(Message::from_io("find", file.place(), &error).to_string()))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let lines: Vec<_> = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    match lines.iter().position(Vec::is_empty) {
        None => Ok(lines),
        Some(index) => {
            let place = format!("{}: line {}", file.place(), index + 1);
            Err(trouble(&place, "an empty pattern would match everywhere", "remove the line"))
        }
    }
}

/// The bytes given by pairs of hexadecimal digits. White space is ignored.
fn bytes_of(hex: &str) -> Result<Vec<u8>, Failure> {
    let cure = "give two digits for each byte, such as '89 50 4e 47'";
    let wrong = |why: &str| trouble(&format!("--hex {}", name::in_messages(hex.as_bytes())), why, cure);
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if digits.is_empty() {
        return Err(wrong("it is empty"));
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| match *pair {
            [high, low] => Some((value(high)? * 16 + value(low)?) as u8),
            _ => None,
        })
        .collect();
    bytes.ok_or_else(|| {
        wrong(if digits.iter().all(u8::is_ascii_hexdigit) { "a digit is missing" } else { "not hexadecimal digits" })
    })
}

fn trouble(place: &str, why: &str, cure: &str) -> Failure {
    Failure::Trouble(Message::new("find", place, why).cure(Some(cure)).to_string())
}
