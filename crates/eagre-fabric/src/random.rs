//! Numbers that nobody can guess.
#![forbid(unsafe_code)]

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::{FabricError, FabricErrorKind};

/// Fills bytes with them.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], FabricError> {
    let mut bytes = [0; N];
    let refused = |why| FabricError::new(FabricErrorKind::Refused, format_args!("no random numbers: {why}"));
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(refused)?;
    Ok(bytes)
}
