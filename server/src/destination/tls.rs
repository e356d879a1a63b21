//! TLS to destinations: no early data, and certificates of the public authorities or of a file.

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How to speak TLS to one host.
pub(super) struct Client {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Client {
    pub(super) fn new(host: &str, ca_file: Option<&Path>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match ca_file {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                let found = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
                for certificate in found {
                    let certificate = certificate.map_err(|error| error.to_string())?;
                    roots.add(certificate).map_err(|error| error.to_string())?;
                }
            }
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // 3.4.3: nothing of a request may go out before the handshake is done.
        config.enable_early_data = false;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    pub(super) async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), stream).await
    }
}
