//! Addresses: `HOST`, `HOST:PORT`, `[IPv6]`, `[IPv6]:PORT`.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use crate::error::{NetError, NetErrorKind};

/// The port where none is named.
pub const DEFAULT_PORT: u16 = 7373;

/// A host by name or number, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`NetErrorKind::Address`].
    pub(crate) fn parse(text: &str) -> Result<Address, NetError> {
        let wrong = |why: &str| {
            NetError::new(
                NetErrorKind::Address,
                format_args!("{}: {why}; write HOST, HOST:PORT or [IPV6]:PORT", text.escape_debug()),
            )
        };
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(|| wrong("the ] is missing"))?;
                match port.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None if port.is_empty() => (host, None),
                    None => return Err(wrong("a port follows a colon")),
                }
            }
            // More than one colon: an IPv6 address without brackets, and so without a port.
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() || host.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(wrong("this is no host"));
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| wrong("a port is a number from 0 to 65535"))?,
            None => DEFAULT_PORT,
        };
        Ok(Address { host: host.to_owned(), port })
    }

    /// The addresses that the name stands for now.
    ///
    /// # Errors
    /// [`NetErrorKind::Address`].
    pub(crate) fn resolve(&self) -> Result<Vec<SocketAddr>, NetError> {
        let unknown = |why: &str| NetError::new(NetErrorKind::Address, format_args!("{self}: {why}; check the name"));
        if let Ok(number) = self.host.parse::<IpAddr>() {
            return Ok(vec![(number, self.port).into()]);
        }
        match (self.host.as_str(), self.port).to_socket_addrs() {
            Ok(found) => Some(found.collect::<Vec<_>>())
                .filter(|found| !found.is_empty())
                .ok_or_else(|| unknown("this host has no address")),
            Err(_) => Err(unknown("this host is unknown")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        for (text, shown) in [
            ("example.org", "example.org:7373"),
            ("example.org:80", "example.org:80"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("::1", "[::1]:7373"),
            ("[::1]", "[::1]:7373"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown);
        }
        for text in ["", ":80", "a:", "a:b", "a:65536", "[::1", "[::1]9", "a b", "a\n", "[]"] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.kind(), NetErrorKind::Address, "{text}");
            assert!(!error.to_string().contains('\n'));
        }
    }
}
