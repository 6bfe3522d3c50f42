//! x
use super::frame::Scenario;
pub const SCENARIOS: &[Scenario] = &[];
