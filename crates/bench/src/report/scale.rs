//! An axis: where values lie on it, and which round numbers it shows.

/// A length in the picture's own pixels, to a tenth.
pub(super) fn px(length: f64) -> String {
    format!("{length:.1}")
}

/// A round number as an axis shows it.
pub(super) fn trimmed(value: f64) -> String {
    if value >= 1e6 {
        return format!("{} M", trimmed(value / 1e6));
    }
    let text = format!("{value:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// From a value to a place on an axis.
pub(super) struct Scale {
    bottom: f64,
    pub top: f64,
    logarithmic: bool,
}

impl Scale {
    pub(super) fn new(bottom: f64, top: f64, logarithmic: bool) -> Scale {
        let bottom = if bottom.is_finite() { bottom.max(1e-6) / 2.0 } else { 0.5 };
        Scale { bottom, top: top.max(bottom * 2.0), logarithmic }
    }

    /// Where on the axis `value` lies: 0 is its start, 1 its end.
    pub(super) fn share(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value.max(self.bottom) / self.bottom).ln() / (self.top / self.bottom).ln()
        } else {
            value / self.top
        }
    }

    /// Round numbers on the axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = self.bottom.log10().floor() as i32..=self.top.log10().floor() as i32;
            let few = decades.clone().count() < 3;
            let within: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let ticks = decades.flat_map(|decade| within.iter().map(move |n| n * 10f64.powi(decade)));
            return ticks.filter(|tick| (self.bottom..=self.top).contains(tick)).collect();
        }
        let rough = self.top / 5.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * unit).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= self.top).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_start_at_the_bottom_end_at_the_top_and_show_round_numbers() {
        let linear = Scale::new(1.0, 20.0, false);
        assert_eq!((linear.share(0.0), linear.share(20.0)), (0.0, 1.0));
        assert_eq!(linear.ticks(), [0.0, 5.0, 10.0, 15.0, 20.0]);
        let log = Scale::new(2.0, 100.0, true);
        assert_eq!((log.share(1.0), log.share(100.0)), (0.0, 1.0));
        assert!((log.share(10.0) - 0.5).abs() < 1e-9);
        assert_eq!(log.ticks(), [1.0, 10.0, 100.0]);
        assert_eq!(Scale::new(6.0, 60.0, true).ticks(), [5.0, 10.0, 20.0, 50.0]);
        for (value, want) in [(0.5, "0.5"), (20.0, "20"), (0.0, "0"), (3.0 * 0.0001, "0.0003"), (2_500_000.0, "2.5 M")]
        {
            assert_eq!(trimmed(value), want);
        }
    }
}
