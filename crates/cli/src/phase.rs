//! The time and the speed of one phase of the work.

use std::time::Duration;

use serde::Serialize;

/// One phase of the work.
#[derive(Default, Serialize)]
pub(crate) struct Phase {
    pub(crate) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys_per_second: Option<u64>,
}

impl Phase {
    pub(crate) fn of_bytes(bytes: u64, time: Duration) -> Phase {
        Phase { seconds: time.as_secs_f64(), bytes_per_second: rate(bytes, time), keys_per_second: None }
    }

    pub(crate) fn of_keys(keys: u64, time: Duration) -> Phase {
        Phase { seconds: time.as_secs_f64(), bytes_per_second: None, keys_per_second: rate(keys, time) }
    }
}

fn rate(amount: u64, time: Duration) -> Option<u64> {
    let rate = amount as f64 / time.as_secs_f64();
    rate.is_finite().then_some(rate as u64)
}
