//! Who may talk to whom: keys, tokens, and what is trusted.
//!
//! Each side has a key pair (Ed25519), and knows the other by the fingerprint of its public key. There are no certificates, no
//! names and no authorities: the connection is TLS 1.3 with raw public keys (RFC 7250), in which both sides prove that they have
//! the key. A *token* is a secret that both sides have; the same key pair is made from it on both sides.

mod identity;
mod trust;

pub(crate) use identity::random;
pub use identity::{Fingerprint, Identity, create_token, load_token};
pub(crate) use trust::Trust;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::error::{NetError, NetErrorKind};

/// The shortest token, in bytes. 16 random ones cannot be guessed.
const LEAST_TOKEN: usize = 16;

/// How two sides know each other.
#[derive(Clone)]
pub struct Security(Way);

#[derive(Clone)]
enum Way {
    Loopback,
    Plain,
    Tls(Arc<Trust>),
}

impl Security {
    /// Nothing to know: plain TCP on loopback. Any other address is an error.
    pub fn loopback() -> Security {
        Security(Way::Loopback)
    }

    /// Plain TCP to and from everybody. Whoever is on the way can read and change what flows; whoever can reach the port can
    /// send or receive.
    pub fn insecure_plain() -> Security {
        Security(Way::Plain)
    }

    /// TLS 1.3 with whoever has the same secret. It must be random, at least 16 bytes: whoever pretends to be the other side
    /// gets a public key made from it, against which a short or guessable one could be tried out.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`] if it is too short.
    pub fn token(secret: &[u8]) -> Result<Security, NetError> {
        if secret.len() < LEAST_TOKEN {
            return Err(NetError::new(
                NetErrorKind::Setting,
                format_args!(
                    "a token of {} bytes: it must have at least {LEAST_TOKEN}, and be random; 'eagre id --token FILE' makes one",
                    secret.len()
                ),
            ));
        }
        let identity = Identity::of_secret(secret)?;
        let fingerprint = identity.fingerprint();
        Security::keys(&identity, &[fingerprint])
    }

    /// TLS 1.3 with whoever has the key of one of `peers`.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`] if there are none.
    pub fn keys(own: &Identity, peers: &[Fingerprint]) -> Result<Security, NetError> {
        if peers.is_empty() {
            return Err(NetError::new(
                NetErrorKind::Setting,
                "nobody is trusted; name the fingerprint of the other side, which 'eagre id' shows there",
            ));
        }
        Ok(Security(Way::Tls(Arc::new(Trust::new(own, peers)?))))
    }

    /// Whether connections are encrypted, and both sides prove who they are.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.0, Way::Tls(_))
    }

    pub(crate) fn trust(&self) -> Option<&Arc<Trust>> {
        match &self.0 {
            Way::Tls(trust) => Some(trust),
            Way::Loopback | Way::Plain => None,
        }
    }

    /// Whether this may be used with an address.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`].
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), NetError> {
        if matches!(self.0, Way::Loopback) && !address.to_canonical().is_loopback() {
            return Err(NetError::new(
                NetErrorKind::Setting,
                format_args!(
                    "{address} is not loopback: it needs a token or keys; give both sides the same token, which 'eagre id --token FILE' makes"
                ),
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Way::Loopback => "Security::loopback",
            Way::Plain => "Security::insecure_plain",
            Way::Tls(_) => "Security::keys",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_used_where() {
        let far = IpAddr::from([192, 0, 2, 1]);
        let near = IpAddr::from([127, 0, 0, 1]);
        assert!(Security::loopback().check(near).is_ok());
        assert!(Security::loopback().check("::ffff:127.0.0.1".parse().unwrap()).is_ok());
        assert_eq!(Security::loopback().check(far).unwrap_err().kind(), NetErrorKind::Setting);
        assert!(Security::insecure_plain().check(far).is_ok());
        assert!(Security::token(&[1; 16]).unwrap().check(far).is_ok());
        assert_eq!(Security::token(&[1; 15]).unwrap_err().kind(), NetErrorKind::Setting);
        assert_eq!(Security::keys(&Identity::generate().unwrap(), &[]).unwrap_err().kind(), NetErrorKind::Setting);
    }

    #[test]
    fn secrets_are_not_printed() {
        let token = Security::token(b"a secret of more than sixteen bytes").unwrap();
        assert_eq!(format!("{token:?}"), "Security::keys");
        let identity = Identity::of_secret(b"another").unwrap();
        assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.fingerprint()));
    }
}
