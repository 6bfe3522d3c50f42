//! What is asked for: keys and options, and the text that they make.

use std::str::FromStr;

use super::codes::Code;
use super::fields::{Range, Stop};
use super::options::End;
use super::{Key, Text, TextOptions};

/// A part of a line that is a key: `F[.C][OPTIONS][,F[.C][OPTIONS]]`, as GNU sort has it.
///
/// From character C of field F to the end of the line, or to the second F.C, which belongs to the key; without C there,
/// to the end of the field. Fields and characters are counted from 1. A `b` counts for the end it stands at, other
/// [options](TextOptions) for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextKey {
    start: (usize, usize),
    stop: Option<(usize, usize)>,
    options: TextOptions,
}

impl FromStr for TextKey {
    type Err = String;

    fn from_str(text: &str) -> Result<TextKey, String> {
        let mut options = TextOptions::default();
        let (first, second) = match text.split_once(',') {
            Some((first, second)) => (first, Some(second)),
            None => (text, None),
        };
        let (field, character, letters) = place(first, "a key begins with the number of a field")?;
        letters.chars().try_for_each(|letter| options.set(letter, End::First))?;
        let character = match character {
            Some(0) => return Err("characters are counted from 1".to_owned()),
            Some(character) => character - 1,
            None => 0,
        };
        let mut key = TextKey { start: (field, character), stop: None, options };
        if let Some(second) = second {
            let (field, character, letters) = place(second, "a comma needs a field behind it")?;
            letters.chars().try_for_each(|letter| key.options.set(letter, End::Last))?;
            key.stop = Some((field, character.unwrap_or(0)));
        }
        Ok(key)
    }
}

/// The field of `F[.C][OPTIONS]`, from 0, the character as it is written, and the options.
fn place<'a>(text: &'a str, missing: &str) -> Result<(usize, Option<usize>, &'a str), String> {
    let (field, rest) = count(text).ok_or_else(|| missing.to_owned())?;
    let field = field.checked_sub(1).ok_or_else(|| "fields are counted from 1".to_owned())?;
    match rest.strip_prefix('.') {
        None => Ok((field, None, rest)),
        Some(rest) => {
            let (character, rest) = count(rest).ok_or_else(|| "a dot needs a number behind it".to_owned())?;
            Ok((field, Some(character), rest))
        }
    }
}

/// The number at the front, and what follows. No line has more fields than the largest number.
fn count(text: &str) -> Option<(usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits);
    (!digits.is_empty()).then(|| (digits.parse().unwrap_or(usize::MAX), rest))
}

/// What is asked of the order of lines. Without anything: lines that end with a newline, compared as bytes.
///
/// ```
/// use eagre::records::{Format, TextOrder};
///
/// // sort -t: -k3,3nr -k1,1 -s
/// let text = TextOrder::new().separator(b':').key("3,3nr".parse()?).key("1,1".parse()?).stable(true).build()?;
/// assert_eq!(text.terminator(), Some(b'\n'));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TextOrder {
    terminator: u8,
    separator: Option<u8>,
    options: TextOptions,
    keys: Vec<TextKey>,
    stable: bool,
    unique: bool,
    csv: bool,
}

impl Default for TextOrder {
    fn default() -> TextOrder {
        TextOrder::new()
    }
}

impl TextOrder {
    /// Lines as bytes.
    pub fn new() -> TextOrder {
        TextOrder {
            terminator: b'\n',
            separator: None,
            options: TextOptions::default(),
            keys: Vec::new(),
            stable: false,
            unique: false,
            csv: false,
        }
    }

    /// The byte that ends a line: a newline unless said.
    pub fn terminator(mut self, terminator: u8) -> TextOrder {
        self.terminator = terminator;
        self
    }

    /// The byte between two fields. Without it, a field begins where blanks do, and they belong to it.
    pub fn separator(mut self, separator: u8) -> TextOrder {
        self.separator = Some(separator);
        self
    }

    /// Options of all keys that have none of their own, and of the whole line if there is no key.
    pub fn options(mut self, options: TextOptions) -> TextOrder {
        self.options.add(options);
        self
    }

    /// A key. The first counts most.
    pub fn key(mut self, key: TextKey) -> TextOrder {
        self.keys.push(key);
        self
    }

    /// Whether lines whose keys are equal keep their order. Otherwise the whole lines decide.
    pub fn stable(mut self, stable: bool) -> TextOrder {
        self.stable = stable;
        self
    }

    /// Whether lines whose keys are equal are the same, as for `sort -u`: the whole lines do not count.
    pub fn unique(mut self, unique: bool) -> TextOrder {
        self.unique = unique;
        self
    }

    /// Whether fields may be in double quotes, as in RFC 4180: a comma separates them unless another
    /// [separator](TextOrder::separator) is named; inside quotes, separators and newlines are text, and a doubled quote
    /// is a quote. A key is the text of a field, without quotes. A carriage return at the end of a line is not part of
    /// its last field.
    pub fn csv(mut self, csv: bool) -> TextOrder {
        self.csv = csv;
        self
    }

    /// The text in this order.
    ///
    /// # Errors
    /// One line: options contradict each other.
    pub fn build(&self) -> Result<Text, String> {
        let separator = if self.csv { Some(self.separator.unwrap_or(b',')) } else { self.separator };
        if self.csv && separator.is_some_and(|separator| separator == b'"' || separator == self.terminator) {
            return Err("fields in quotes can be separated neither by quotes nor by what ends a line".to_owned());
        }
        let descending = self.options.reverse;
        let mut keys = Vec::new();
        for key in &self.keys {
            let inherits = key.options.is_plain() && !key.options.reverse;
            keys.push(resolve(key, if inherits { self.options } else { key.options }, descending)?);
        }
        if keys.is_empty() && !self.options.is_plain() {
            keys.push(resolve(
                &TextKey { start: (0, 0), stop: None, options: self.options },
                self.options,
                descending,
            )?);
        }
        let last_resort = !self.stable && !self.unique;
        Ok(Text { terminator: self.terminator, separator, csv: self.csv, keys, descending, last_resort })
    }
}

fn resolve(key: &TextKey, options: TextOptions, descending: bool) -> Result<Key, String> {
    options.check()?;
    let (field, character) = key.start;
    let stop = key.stop.map(|(field, character)| Stop { field, character, skip_blanks: options.end_blanks });
    let range = Range { field, character, skip_blanks: options.start_blanks, stop };
    Ok(Key { range, code: Code::new(options), complement: options.reverse != descending })
}
