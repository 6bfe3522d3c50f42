//! What a record is, as Python says it: formats, with the keys of `eagre sort` and GNU sort.

use eagre::records::{Fixed, KeyRange, Klv, Lines, Text, TextKey, TextOptions, TextOrder};
use pyo3::prelude::*;

use crate::error;

/// What Python says of records.
#[derive(FromPyObject)]
pub(crate) struct Records {
    #[pyo3(item)]
    kind: String,
    #[pyo3(item)]
    keys: Vec<String>,
    #[pyo3(item)]
    options: String,
    #[pyo3(item)]
    separator: Option<u8>,
    #[pyo3(item)]
    size: usize,
    #[pyo3(item)]
    nan_last: bool,
}

/// A format, and whether its largest key comes first.
pub(crate) enum Chosen {
    Lines(Lines, bool),
    Fixed(Fixed, bool),
    Klv(Klv, bool),
    Text(Text, bool),
}

/// Evaluates an expression with `$format` as the format that a [`Chosen`] holds, and `$descending` as its direction.
macro_rules! with_format {
    ($chosen:expr, $format:ident, $descending:ident => $body:expr) => {
        match $chosen {
            $crate::records::Chosen::Lines($format, $descending) => $body,
            $crate::records::Chosen::Fixed($format, $descending) => $body,
            $crate::records::Chosen::Klv($format, $descending) => $body,
            $crate::records::Chosen::Text($format, $descending) => $body,
        }
    };
}

pub(crate) use with_format;

impl Records {
    /// The format. `unique` says whether records with equal keys are the same.
    pub(crate) fn chosen(&self, function: &str, descending: bool, unique: bool) -> PyResult<Chosen> {
        let chosen = self.parsed(descending, unique);
        chosen.map_err(|why| error::value_error(format_args!("{function}: {why}")))
    }

    /// Records whose NaN come where they were asked for.
    fn placed(&self, format: Fixed, descending: bool) -> Result<Fixed, String> {
        if !self.nan_last {
            return Ok(format);
        }
        let format = format.nan_last(descending);
        format.ok_or_else(|| "nan_last is set, and no key is a floating-point number; leave it out".to_owned())
    }

    fn parsed(&self, descending: bool, unique: bool) -> Result<Chosen, String> {
        Ok(match self.kind.as_str() {
            "lines" => Chosen::Lines(Lines::default(), descending),
            "fixed" => {
                let keys = self.keys.iter().map(|key| key.parse()).collect::<Result<Vec<KeyRange>, _>>()?;
                Chosen::Fixed(self.placed(Fixed::new(self.size, &keys)?, descending)?, descending)
            }
            "klv" => Chosen::Klv(self.options.parse()?, descending),
            "numbers" => Chosen::Fixed(self.placed(Fixed::numbers(&self.options)?, descending)?, descending),
            kind => {
                let letters = if descending { format!("{}r", self.options) } else { self.options.clone() };
                let order = TextOrder::new().options(letters.parse::<TextOptions>()?);
                let order = order.csv(kind == "csv").unique(unique);
                let order = self.separator.into_iter().fold(order, TextOrder::separator);
                let keys = self.keys.iter().map(|key| key.parse()).collect::<Result<Vec<TextKey>, _>>()?;
                let text = keys.into_iter().fold(order, TextOrder::key).build()?;
                // An r among its options has turned the order, too.
                let descending = text.descending();
                Chosen::Text(text, descending)
            }
        })
    }
}
