//! The server's certificate, and what a client trusts and remembers.

use std::sync::Arc;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{CipherSuite, KeyLog, NoKeyLog, RootCertStore};
use thiserror::Error;

/// Name for which the certificate is issued.
pub(crate) const SERVER_NAME: &str = "firstflight.test";

/// Most bytes that a server takes before the handshake is over; QUIC allows only this value (RFC 9001 section 4.6.1).
const EARLY_DATA: u32 = u32::MAX;

/// Reason why TLS could not be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses the settings.
    #[error("cannot set TLS up: {0}")]
    Tls(#[from] rustls::Error),
    /// The TLS library has no cipher that QUIC's first packets need.
    #[error("cannot set TLS up: {0}")]
    Cipher(#[from] quinn_proto::crypto::rustls::NoInitialCipherSuite),
}

/// TLS of one server and its clients. Clients that share credentials resume each other's sessions. An Ed25519 key signs: its
/// signatures have one length, so that handshakes have one size.
#[derive(Clone)]
pub struct Credentials {
    pub(crate) server: Arc<QuicServerConfig>,
    pub(crate) client: Arc<QuicClientConfig>,
}

impl Credentials {
    /// Credentials of a new server.
    ///
    /// # Errors
    /// [`CredentialsError`] if the TLS library refuses the settings.
    pub fn new() -> Result<Self, CredentialsError> {
        Self::with_key_log(Arc::new(NoKeyLog), None)
    }

    /// Credentials of a new server that hands the secrets of its connections to `log`. `suite` is the cipher suite that both ends prefer, instead of
    /// the TLS library's choice.
    ///
    /// # Errors
    /// As [`Credentials::new`].
    pub fn with_key_log(log: Arc<dyn KeyLog>, suite: Option<CipherSuite>) -> Result<Self, CredentialsError> {
        let key = KeyPair::generate_for(&PKCS_ED25519)?;
        let mut parameters = CertificateParams::new(vec![SERVER_NAME.into()])?;
        // Made from the key, a serial number has one byte less now and then.
        parameters.serial_number = Some(1.into());
        let certificate = parameters.self_signed(&key)?.der().clone();
        let mut provider = rustls::crypto::ring::default_provider();
        provider.cipher_suites.sort_by_key(|one| suite.is_some_and(|suite| one.suite() != suite));
        let provider = Arc::new(provider);
        let versions = [&rustls::version::TLS13];

        let mut server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )?;
        server.max_early_data_size = EARLY_DATA;
        server.key_log = log;

        let mut roots = RootCertStore::empty();
        roots.add(certificate)?;
        let mut client = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.enable_early_data = true;
        Ok(Self { server: Arc::new(server.try_into()?), client: Arc::new(client.try_into()?) })
    }
}
