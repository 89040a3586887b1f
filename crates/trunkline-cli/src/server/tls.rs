//! The certificates of https.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use trunkline::server::Tls;

/// The flags of TLS.
#[derive(Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// Certificate chain for https, as a PEM file
    ///
    /// The server's certificate and those that lead to a root. A replaced file is used within seconds, and connections
    /// stay open. Requires --tls-key.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert, as a PEM file
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Authorities of client certificates, as a PEM file
    ///
    /// A request of a client with a certificate that one of them has signed needs no token. Its principal is
    /// `certificate:NAME`, where NAME is the first URI, or else the first DNS name, of the certificate's subjectAltName. A
    /// request without a certificate needs a token. Requires --tls-cert.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_CLIENT_CA", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
}

/// The interval of checks whether the files have been replaced. `trunkline health` expects the certificate of the file.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

impl TlsArgs {
    /// Whether the server uses TLS.
    pub(crate) fn is_given(&self) -> bool {
        self.tls_cert.is_some() || self.tls_key.is_some()
    }

    /// Whether client certificates are accepted.
    pub(crate) fn accepts_certificates(&self) -> bool {
        self.tls_client_ca.is_some()
    }

    /// Checks that there is a key for the certificate. clap checks only flags and variables.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.tls_cert.is_none() || self.tls_key.is_some(),
            "server.tls.cert requires server.tls.key, the private key of the certificate"
        );
        ensure!(
            self.tls_key.is_none() || self.tls_cert.is_some(),
            "server.tls.key requires server.tls.cert, the certificate of the key"
        );
        ensure!(
            self.tls_client_ca.is_none() || self.tls_cert.is_some(),
            "server.tls.client_ca requires server.tls.cert: certificates of clients are those of TLS"
        );
        Ok(())
    }

    /// Reads the files.
    pub(crate) fn open(&self) -> anyhow::Result<Option<Tls>> {
        self.check()?;
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let tls = Tls::open(certificate, key).and_then(|tls| match &self.tls_client_ca {
            Some(authorities) => tls.client_ca(authorities),
            None => Ok(tls),
        });
        let tls = tls.map(|tls| Some(tls.check_interval(CHECK_INTERVAL)));
        tls.context("cannot serve https; check --tls-cert, --tls-key and --tls-client-ca")
    }
}
