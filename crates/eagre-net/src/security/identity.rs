//! Key pairs, the files that hold them, and their fingerprints.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::SigningKey;

use crate::error::{NetError, NetErrorKind, reason};

/// How a file of a key begins. 64 hexadecimal digits follow.
const MARK: &str = "eagre-key-1 ";
/// An Ed25519 key in PKCS #8 (RFC 8410, section 7): this, and the 32 bytes of its seed.
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// The fingerprint of a public key: the SHA-256 of its encoding (SubjectPublicKeyInfo, RFC 8410). Written `sha256:` and 64
/// hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(public_key: &[u8]) -> Fingerprint {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, public_key).as_ref());
        Fingerprint(bytes)
    }
}

/// Takes the same time wherever the two differ.
impl PartialEq for Fingerprint {
    fn eq(&self, other: &Fingerprint) -> bool {
        let different = self.0.iter().zip(&other.0).fold(0, |different, (a, b)| different | (a ^ b));
        std::hint::black_box(different) == 0
    }
}

impl Eq for Fingerprint {}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hexadecimal(&self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Fingerprint, NetError> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        bytes_of(digits).map(Fingerprint).ok_or_else(|| {
            NetError::new(
                NetErrorKind::Setting,
                format_args!(
                    "{}: this is no fingerprint; 'eagre id' shows one: sha256: and 64 hexadecimal digits",
                    text.escape_debug()
                ),
            )
        })
    }
}

/// A key pair: what a side proves that it is.
#[derive(Clone)]
pub struct Identity {
    seed: [u8; 32],
    fingerprint: Fingerprint,
}

impl Identity {
    /// A new one, from the system's random numbers.
    ///
    /// # Errors
    /// [`NetErrorKind::Resources`] if there are none.
    pub fn generate() -> Result<Identity, NetError> {
        Identity::of_seed(random()?)
    }

    /// The one that everybody makes from the same secret.
    pub(crate) fn of_secret(secret: &[u8]) -> Result<Identity, NetError> {
        Identity::of_seed(blake3::derive_key("eagre 2026-11 key pair of a token", secret))
    }

    fn of_seed(seed: [u8; 32]) -> Result<Identity, NetError> {
        let mut identity = Identity { seed, fingerprint: Fingerprint([0; 32]) };
        let key = identity.signing_key()?;
        let public = key.public_key().ok_or_else(|| unusable("it has no public key"))?;
        identity.fingerprint = Fingerprint::of(&public);
        Ok(identity)
    }

    /// Makes one and writes it to a new file, which only its owner can read.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`] if the file exists or cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Identity, NetError> {
        let identity = Identity::generate()?;
        write_secret(path.as_ref(), format!("{MARK}{}\n", hexadecimal(&identity.seed)).as_bytes())?;
        Ok(identity)
    }

    /// Reads one from its file.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`] if it cannot be read, is no key, or others can read it.
    pub fn load(path: impl AsRef<Path>) -> Result<Identity, NetError> {
        let path = path.as_ref();
        let bytes = read_secret(path)?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default().trim_end();
        let seed = text.strip_prefix(MARK).and_then(bytes_of);
        let seed = seed.ok_or_else(|| at(path, "this is no key of eagre; 'eagre id' makes one"))?;
        Identity::of_seed(seed)
    }

    /// What the other side knows it by.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn signing_key(&self) -> Result<Arc<dyn SigningKey>, NetError> {
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from([&PKCS8[..], &self.seed].concat()));
        rustls::crypto::ring::sign::any_supported_type(&der).map_err(|error| unusable(&error.to_string()))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

/// Makes a random token and writes it to a new file, which only its owner can read: 64 hexadecimal digits.
///
/// # Errors
/// [`NetErrorKind::Setting`] if the file exists or cannot be written.
pub fn create_token(path: impl AsRef<Path>) -> Result<(), NetError> {
    write_secret(path.as_ref(), format!("{}\n", hexadecimal(&random::<32>()?)).as_bytes())
}

/// Reads a token from a file: all of its bytes but line ends at its end.
///
/// # Errors
/// [`NetErrorKind::Setting`] if it cannot be read, or others can read it.
pub fn load_token(path: impl AsRef<Path>) -> Result<Vec<u8>, NetError> {
    let mut bytes = read_secret(path.as_ref())?;
    let length = bytes.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    bytes.truncate(length);
    Ok(bytes)
}

fn unusable(why: &str) -> NetError {
    NetError::new(NetErrorKind::Setting, format_args!("this key cannot be used: {why}; make another"))
}

fn at(path: &Path, why: &str) -> NetError {
    NetError::new(NetErrorKind::Setting, format_args!("{}: {why}", path.display().to_string().escape_debug()))
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], NetError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| NetError::new(NetErrorKind::Resources, "the system gives no random numbers"))?;
    Ok(bytes)
}

/// Writes a new file that only its owner can read, and nothing if it fails.
fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), NetError> {
    let refused = |error: &io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => at(path, "it exists, and is not replaced; name another file"),
        _ => at(path, &reason(error)),
    };
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| refused(&error))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(path);
        refused(&error)
    })
}

/// Reads a file of at most 4 KiB that only its owner can read.
fn read_secret(path: &Path) -> Result<Vec<u8>, NetError> {
    let read = || -> io::Result<(u32, Vec<u8>)> {
        let file = File::open(path)?;
        let mode = file.metadata()?.mode();
        let mut bytes = Vec::new();
        file.take(4097).read_to_end(&mut bytes)?;
        Ok((mode, bytes))
    };
    let (mode, bytes) = read().map_err(|error| at(path, &reason(&error)))?;
    // A pipe (`<(pass show eagre)`) is nobody else's.
    if mode & 0o170_000 == 0o100_000 && mode & 0o077 != 0 {
        return Err(at(path, "others can read this secret; run 'chmod 600' on it"));
    }
    if bytes.len() > 4096 {
        return Err(at(path, "more than 4096 bytes: this is no secret of eagre"));
    }
    Ok(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_the_same_after_its_file() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("key");
        let made = Identity::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = Identity::load(&path).unwrap();
        assert_eq!(made.fingerprint(), read.fingerprint());
        assert_eq!(made.fingerprint().to_string().parse::<Fingerprint>().unwrap(), made.fingerprint());
        assert_ne!(made.fingerprint(), Identity::generate().unwrap().fingerprint());
        assert!(Identity::create(&path).unwrap_err().to_string().contains("it exists"));
    }

    #[test]
    fn files_that_are_no_secrets_are_refused() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("token");
        create_token(&path).unwrap();
        assert_eq!(load_token(&path).unwrap().len(), 64);
        assert!(Identity::load(&path).unwrap_err().to_string().contains("no key of eagre"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(load_token(&path).unwrap_err().to_string().contains("chmod 600"));
        assert!(load_token(room.path().join("none")).unwrap_err().to_string().contains("No such file"));
        for text in ["", "sha256:", "sha256:xyz", &"é".repeat(32), &"0".repeat(63)] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }

    /// RFC 8410, section 10.3, has this seed, and 10.1 its public key.
    #[test]
    fn the_encoding_is_that_of_rfc_8410() {
        let seed = bytes_of("d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842").unwrap();
        let key = Identity::of_seed(seed).unwrap().signing_key().unwrap();
        let public = key.public_key().unwrap();
        let expected = "302a300506032b657003210019bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
        assert_eq!(hexadecimal(&public), expected);
    }
}
