//! `--columns`: the figures that are printed for each key.

use std::str::FromStr;

use eagre::stats::{Decimal, Group};

/// The least number of decimals of variances and standard deviations.
const FRACTION: u32 = 6;

/// Some columns, in the order in which they are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns(Vec<Column>);

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// The name as it was given.
    pub(super) name: String,
    figure: Figure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Count,
    Sum,
    Min,
    Max,
    Mean,
    Variance,
    Deviation,
    Quantile(Decimal),
}

impl Default for Columns {
    fn default() -> Columns {
        let column = |(name, figure): (&str, Figure)| Column { name: name.to_owned(), figure };
        let all = [("min", Figure::Min), ("mean", Figure::Mean), ("max", Figure::Max), ("count", Figure::Count)];
        Columns(all.map(column).into())
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(names: &str) -> Result<Columns, String> {
        names.split(',').map(str::parse).collect::<Result<_, _>>().map(Columns)
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(name: &str) -> Result<Column, String> {
        let quantile = |part: &str, of: &str| {
            let part: Decimal = part.parse().ok()?;
            let inside = part >= "0".parse().ok()? && part <= of.parse().ok()?;
            inside.then_some(part)
        };
        let figure = match name {
            "count" => Figure::Count,
            "sum" => Figure::Sum,
            "min" => Figure::Min,
            "max" => Figure::Max,
            "mean" => Figure::Mean,
            "var" => Figure::Variance,
            "stddev" => Figure::Deviation,
            "median" => Figure::Quantile(quantile("0.5", "1").ok_or("")?),
            _ => {
                let unknown = || {
                    format!(
                        "no column '{name}'; the columns are count, sum, min, max, mean, var, stddev, median, p0 to p100 and q0 to q1"
                    )
                };
                let part = match (name.strip_prefix('p'), name.strip_prefix('q')) {
                    // A percentage: the point moves two places to the left.
                    (Some(percent), _) => {
                        quantile(percent, "100").and_then(|_| quantile(&format!("{percent}e-2"), "1"))
                    }
                    (_, Some(part)) => quantile(part, "1"),
                    _ => None,
                };
                Figure::Quantile(part.ok_or_else(unknown)?)
            }
        };
        Ok(Column { name: name.to_owned(), figure })
    }
}

impl Columns {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Column> {
        self.0.iter()
    }

    /// Whether any column needs the sum of squares.
    pub(super) fn need_variance(&self) -> bool {
        self.iter().any(|column| matches!(column.figure, Figure::Variance | Figure::Deviation))
    }

    /// Whether any column needs all values.
    pub(super) fn need_values(&self) -> bool {
        self.iter().any(|column| matches!(column.figure, Figure::Quantile(_)))
    }
}

impl Column {
    /// Appends the figure of a key. `decimals` is the largest number of decimals in the input. Appends nothing if the key
    /// has no such figure.
    pub(super) fn write(&self, group: &Group<'_>, decimals: u32, out: &mut Vec<u8>) {
        let mean = decimals.max(1);
        let fraction = decimals.max(FRACTION);
        match self.figure {
            Figure::Count => out.extend_from_slice(itoa::Buffer::new().format(group.count).as_bytes()),
            Figure::Sum => group.sum.write(decimals, out),
            Figure::Min => group.min.write(decimals, out),
            Figure::Max => group.max.write(decimals, out),
            Figure::Mean => group.mean(mean).write(mean, out),
            Figure::Variance => out.extend(group.variance(fraction).unwrap_or_default().bytes()),
            Figure::Deviation => out.extend(group.deviation(fraction).unwrap_or_default().bytes()),
            Figure::Quantile(part) => {
                if let Some(value) = group.quantile(part, mean) {
                    value.write(mean, out);
                }
            }
        }
    }
}
