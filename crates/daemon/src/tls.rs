//! The encrypted way to a store: TLS 1.3 to a server that one of the named authorities vouches for.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::service::Trouble;

/// Authorities of the system, on Debian and its kin.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Proof that a server must give.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl core::fmt::Debug for Tls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Tls").field(&self.server).finish()
    }
}

impl Tls {
    /// For the server of this name or address; `authorities` is a file of certificates, PEM, the system's by default.
    pub(crate) fn of(server: &str, authorities: Option<&Path>) -> Result<Self, Trouble> {
        let path = authorities.unwrap_or(Path::new(SYSTEM));
        let trouble = |error: &dyn ToString| Trouble::of("share.ca_file", path, error);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| trouble(&error))? {
            // The system has certificates of old kinds, too.
            roots.add_parsable_certificates([certificate.map_err(|error| trouble(&error))?]);
        }
        if roots.is_empty() {
            return Err(trouble(&"it has no certificate of an authority; expected one or more in PEM"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| trouble(&error))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let named = ServerName::try_from(server.to_owned());
        let server = named.map_err(|error| Trouble::of("share.url", Path::new(""), &error))?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), server })
    }

    /// Encrypts a connection.
    pub(crate) async fn over(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let opened = self.connector.connect(self.server.clone(), stream).await;
        opened.map_err(|error| format!("TLS: {error}"))
    }
}
