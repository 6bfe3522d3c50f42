//! Streams between two sides: what is written there is read here, whatever happens to the connection.

mod broken;
mod common;
mod hostile;
mod plain;
mod registered;
#[cfg(feature = "transfer")]
mod striped;
