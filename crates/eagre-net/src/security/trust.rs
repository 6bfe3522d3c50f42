//! TLS 1.3 between two sides that know each other's public keys.

use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    ServerConnection, SignatureScheme,
};

use super::identity::{Fingerprint, Identity};
use crate::error::{NetError, NetErrorKind};

/// What both roles of a side need for a connection.
pub(crate) struct Trust {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Trust {
    pub(super) fn new(own: &Identity, peers: &[Fingerprint]) -> Result<Trust, NetError> {
        let wrong = |error: Error| NetError::new(NetErrorKind::Setting, format_args!("TLS cannot be used: {error}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = own.signing_key()?;
        let public = key.public_key().map(|public| CertificateDer::from(public.to_vec()));
        let key = Arc::new(CertifiedKey::new(public.into_iter().collect(), key));
        let known = Arc::new(Known { peers: peers.to_vec(), provider: provider.clone() });
        let version = &[&rustls::version::TLS13];
        let client =
            ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(version).map_err(wrong)?;
        let mut client = client
            .dangerous()
            .with_custom_certificate_verifier(known.clone())
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(key.clone())));
        // A stream is one connection, or a few: nothing is gained by remembering them.
        client.resumption = rustls::client::Resumption::disabled();
        client.enable_sni = false;
        let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(version).map_err(wrong)?;
        let mut server = server
            .with_client_cert_verifier(known)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key)));
        server.send_tls13_tickets = 0;
        Ok(Trust { client: Arc::new(client), server: Arc::new(server) })
    }

    /// The side that calls.
    pub(crate) fn calling(&self) -> Result<ClientConnection, Error> {
        // Nobody looks at the name.
        ClientConnection::new(
            self.client.clone(),
            ServerName::try_from("eagre").map_err(|_| Error::HandshakeNotComplete)?,
        )
    }

    /// The side that is called.
    pub(crate) fn called(&self) -> Result<ServerConnection, Error> {
        ServerConnection::new(self.server.clone())
    }
}

/// Whose public keys are known.
#[derive(Debug)]
struct Known {
    peers: Vec<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl Known {
    fn check(&self, public_key: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = Fingerprint::of(public_key);
        // All are compared, so that the time does not tell which.
        let known = self.peers.iter().fold(false, |known, peer| known | (*peer == shown));
        if known { Ok(()) } else { Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) }
    }

    fn check_signature(
        &self,
        message: &[u8],
        public_key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public_key = SubjectPublicKeyInfoDer::from(public_key.as_ref());
        verify_tls13_signature_with_raw_key(
            message,
            &public_key,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    /// There is no TLS 1.2 here.
    fn never() -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(rustls::PeerIncompatible::Tls13RequiredForQuic))
    }
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        public_key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(public_key).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Known::never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        public_key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, public_key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Known {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        public_key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(public_key).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Known::never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        public_key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, public_key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
