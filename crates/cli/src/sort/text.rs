//! The order of lines: options as GNU sort has them.
//!
//! `-h` and `-V` are orders here, as in GNU sort; help is `--help`.

use clap::ValueEnum;
use eagre::records::{Text, TextKey, TextOptions, TextOrder};

use crate::exit::Failure;
use crate::message::Message;

/// The options for lines of text.
#[derive(clap::Args)]
#[command(disable_help_flag = true, next_help_heading = "Order of lines")]
pub(super) struct TextArgs {
    /// Compare the part of the line from field F, character C to the end of the second F, or to its character C; OPTS are
    /// letters of the options below, for this key alone. Several keys are compared in turn. With --record, a key is bytes
    /// OFFSET:LENGTH of the record, or the number OFFSET:TYPE (such as 8:u32be); :desc behind it means descending
    #[arg(short = 'k', long, value_name = "F[.C][OPTS][,F[.C][OPTS]]")]
    key: Vec<String>,

    /// Separate fields by the character SEP; \0 is a NUL [default: each field begins with the blanks before it]
    #[arg(short = 't', long = "field-separator", value_name = "SEP", value_parser = separator, allow_hyphen_values = true)]
    separator: Option<u8>,

    /// Take fields in double quotes as text, which may contain separators, newlines and doubled quotes; fields are separated
    /// by commas, or by -t
    #[arg(long)]
    csv: bool,

    /// Write the first N lines first, without sorting them; several FILEs must have the same, which are written once
    #[arg(long, value_name = "N")]
    header: Option<usize>,

    /// Lines end with a NUL, not with a newline
    #[arg(short = 'z', long)]
    zero_terminated: bool,

    /// Compare decimal numbers of any length, such as -12.5
    #[arg(short = 'n', long)]
    numeric_sort: bool,

    /// Compare numbers in any form, such as 1e10, 0x1f or inf
    #[arg(short = 'g', long)]
    general_numeric_sort: bool,

    /// Compare numbers with suffixes, such as 2K or 1.5G
    #[arg(short = 'h', long)]
    human_numeric_sort: bool,

    /// Compare numbers inside of text by their values, as in versions
    #[arg(short = 'V', long)]
    version_sort: bool,

    /// Compare names of months: anything else, JAN, …, DEC
    #[arg(short = 'M', long)]
    month_sort: bool,

    /// Compare in the way of -g, -h, -M, -n or -V
    #[arg(long, value_name = "WORD")]
    sort: Option<Sort>,

    /// Do not compare blanks at the beginning of lines and keys
    #[arg(short = 'b', long)]
    ignore_leading_blanks: bool,

    /// Compare only blanks, letters and digits
    #[arg(short = 'd', long)]
    dictionary_order: bool,

    /// Compare small letters as large ones
    #[arg(short = 'f', long)]
    ignore_case: bool,

    /// Compare only printable characters
    #[arg(short = 'i', long)]
    ignore_nonprinting: bool,

    /// Print help
    #[arg(long, action = clap::ArgAction::Help, help_heading = "Options")]
    help: Option<bool>,
}

/// The words of `--sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// As -g
    GeneralNumeric,
    /// As -h
    HumanNumeric,
    /// As -M
    Month,
    /// As -n
    Numeric,
    /// As -V
    Version,
}

/// What counts for all formats, as far as it changes how lines are compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Common {
    pub(super) reverse: bool,
    pub(super) unique: bool,
    pub(super) stable: bool,
}

impl TextArgs {
    /// The keys, as they are written.
    pub(super) fn keys(&self) -> &[String] {
        &self.key
    }

    /// How many lines at the beginning stay where they are.
    pub(super) fn header(&self) -> usize {
        self.header.unwrap_or(0)
    }

    /// The byte that ends a line.
    pub(super) fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// Whether lines are compared as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.key.is_empty() && !self.csv && self.letters().is_empty()
    }

    /// An option that means something for lines only, if there is one. Keys mean something for records, too.
    pub(super) fn for_lines_only(&self) -> Option<String> {
        let options = [
            (self.separator.is_some(), "-t"),
            (self.csv, "--csv"),
            (self.header.is_some(), "--header"),
            (self.zero_terminated, "-z"),
        ];
        let option = options.into_iter().find(|(given, _)| *given).map(|(_, option)| option.to_owned());
        option.or_else(|| self.letters().chars().next().map(|letter| format!("-{letter}")))
    }

    /// The order that the options ask for.
    pub(super) fn order(&self, common: Common) -> Result<Text, Failure> {
        let mut order = TextOrder::new()
            .terminator(self.terminator())
            .stable(common.stable)
            .unique(common.unique)
            .csv(self.csv)
            .options(self.options(common.reverse)?);
        if let Some(separator) = self.separator {
            order = order.separator(separator);
        }
        for key in &self.key {
            let key: TextKey = key.parse().map_err(|why| wrong(format!("-k {}: {why}", key.escape_debug())))?;
            order = order.key(key);
        }
        order.build().map_err(wrong)
    }

    fn options(&self, reverse: bool) -> Result<TextOptions, Failure> {
        let mut letters = self.letters();
        if reverse {
            letters.push('r');
        }
        letters.parse().map_err(wrong)
    }

    /// The letters of the options that all keys inherit.
    fn letters(&self) -> String {
        let sort = |sort| self.sort == Some(sort);
        let letters = [
            (self.ignore_leading_blanks, 'b'),
            (self.dictionary_order, 'd'),
            (self.ignore_case, 'f'),
            (self.general_numeric_sort || sort(Sort::GeneralNumeric), 'g'),
            (self.human_numeric_sort || sort(Sort::HumanNumeric), 'h'),
            (self.ignore_nonprinting, 'i'),
            (self.month_sort || sort(Sort::Month), 'M'),
            (self.numeric_sort || sort(Sort::Numeric), 'n'),
            (self.version_sort || sort(Sort::Version), 'V'),
        ];
        letters.into_iter().filter(|(given, _)| *given).map(|(_, letter)| letter).collect()
    }
}

/// The error of options that cannot be used.
pub(super) fn wrong(why: String) -> Failure {
    Failure::Trouble(Message::new("usage", "sort", why).cure(Some("see 'eagre sort --help'")).to_string())
}

/// The argument of `-t`: one byte, as GNU has it where characters are bytes.
fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\0" => Ok(0),
        b"\\t" => Err("a tab is written $'\\t' in the shell".to_owned()),
        [byte] => Ok(*byte),
        [] => Err("it is empty".to_owned()),
        _ => Err("a separator is one byte".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use eagre::records::Format;

    use super::*;

    #[derive(Parser)]
    #[command(args_override_self = true)]
    struct Line {
        #[command(flatten)]
        text: TextArgs,
        files: Vec<String>,
    }

    fn order(arguments: &[&str]) -> Result<Text, String> {
        let line = Line::try_parse_from(["sort"].iter().chain(arguments)).map_err(|error| error.to_string())?;
        let text = line.text.order(Common::default()).map_err(|failure| match failure {
            Failure::Trouble(line) => line,
            Failure::Unheard => String::new(),
        })?;
        let mut scratch = Vec::new();
        assert_eq!(line.text.is_plain(), text.key(b"A,-a", &mut scratch) == b"A,-a", "{arguments:?}");
        Ok(text)
    }

    fn key(arguments: &[&str], line: &[u8]) -> Vec<u8> {
        order(arguments).unwrap().key(line, &mut Vec::new()).to_vec()
    }

    #[test]
    fn options_are_those_of_gnu_sort() {
        // The same in several ways.
        for same in [
            &[&["-n"][..], &["--numeric-sort"], &["--sort=numeric"], &["-n", "-n", "file"]][..],
            &[&["-g"], &["--general-numeric-sort"], &["--sort", "general-numeric"]],
            &[&["-h"], &["--human-numeric-sort"], &["--sort=human-numeric"]],
            &[&["-V"], &["--version-sort"], &["--sort=version"]],
            &[&["-M"], &["--month-sort"], &["--sort=month"]],
            &[&["-bdfi"], &["-b", "--dictionary-order", "--ignore-case", "-i"], &["-idf", "--ignore-leading-blanks"]],
            &[&["-t,", "-k2,2"], &["-t", ",", "-k", "2,2"], &["--field-separator=,", "--key=2,2"]],
            &[&["-nk2", "-k1"], &["-k2n", "-k1n"], &["-k2", "file", "-k1", "-n"]],
            &[&["-z"], &["--zero-terminated"]],
            &[&["-t", "-", "-k2n"], &["-t-", "-k2n"]],
            &[&["-t\\0", "-k2n"], &["-t", "\\0", "--key=2n"]],
        ] {
            for arguments in same {
                assert_eq!(order(arguments), order(same[0]), "{arguments:?}");
                order(arguments).unwrap();
            }
        }
        assert_ne!(order(&["-n"]), order(&["-h"]));
        assert!(key(&["-t,", "-k2,2n"], b"b,9\n") < key(&["-t,", "-k2,2n"], b"a,10\n"));
        assert!(key(&["--csv", "-k2,2"], b"b,\"a,\"\n") < key(&["--csv", "-k2,2"], b"a,b\n"));
        assert_eq!(key(&[], b" a \n"), b" a ");
    }

    #[test]
    fn what_cannot_be_used_is_said_in_a_line() {
        for (arguments, said) in [
            (&["-hn"][..], "options '-hn' are incompatible"),
            (&["-n", "--sort=month"], "options '-Mn' are incompatible"),
            (&["-k1,1iM"], "options '-iM' are incompatible"),
            (&["-k", "0"], "-k 0: fields are counted from 1"),
            (&["-k1x"], "-k 1x: 'x' is none of the options"),
            (&["--csv", "-t", "\""], "fields in quotes"),
        ] {
            let line = order(arguments).unwrap_err();
            assert!(line.starts_with("eagre: usage: sort: ") && line.contains(said), "{line}");
            assert!(line.ends_with("; see 'eagre sort --help'") && !line.contains('\n'), "{line}");
        }
        for (arguments, said) in [
            (&["-tab"][..], "one byte"),
            (&["-t", ""], "empty"),
            (&["-t\\t"], "$'\\t'"),
            (&["--sort=random"], "random"),
        ] {
            let text = order(arguments).unwrap_err();
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn options_for_lines_have_names() {
        for (arguments, option) in
            [(&["-k1"][..], None), (&["-t,"], Some("-t")), (&["-z"], Some("-z")), (&["-b"], Some("-b"))]
        {
            let line = Line::try_parse_from(["sort"].iter().chain(arguments)).unwrap();
            assert_eq!(line.text.for_lines_only().as_deref(), option, "{arguments:?}");
        }
        let line = Line::try_parse_from(["sort", "--header", "1"]).unwrap();
        assert_eq!((line.text.header(), line.text.is_plain()), (1, true));
    }
}
