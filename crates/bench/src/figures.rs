//! Numbers and intervals as tables and charts write them.

use crate::interval::Estimate;

/// A number with three significant digits, as far as a table needs them.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{} M", number(value / 1e6)),
        v if v >= 99.95 || v == 0.0 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.0995 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// `12.3 [12.1, 12.6]`.
pub(crate) fn interval(estimate: &Estimate) -> String {
    let Estimate { median, low, high, .. } = estimate;
    format!("{} [{}, {}]", number(*median), number(*low), number(*high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, want) in [
            (0.0, "0"),
            (0.01234, "0.0123"),
            (0.7249, "0.72"),
            (1.0, "1.00"),
            (19.96, "20.0"),
            (123.4, "123"),
            (117_893_577.0, "118 M"),
        ] {
            assert_eq!(number(value), want);
        }
    }
}
