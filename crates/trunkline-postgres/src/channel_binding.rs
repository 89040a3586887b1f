//! The binding of a password to the TLS connection: `SCRAM-SHA-256-PLUS` with `tls-server-end-point` (RFC 5929).
//!
//! The driver reads the hash of the certificate from a stream with TLS that it has established. Here, TLS is established
//! before the driver gets the stream, so that it gets the hash from a connector that does nothing else.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The hash of the certificate of a server. None without TLS, or if no hash is defined for the certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEndPoint(Option<Vec<u8>>);

impl ServerEndPoint {
    /// From a certificate in DER.
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let algorithm = signature_algorithm(certificate).and_then(hash_of);
        Self(algorithm.map(|algorithm| digest(algorithm, certificate).as_ref().to_vec()))
    }

    /// The configuration with which the driver uses this connector.
    pub(crate) fn config(&self, config: &Config) -> Config {
        let mut config = config.clone();
        if self.0.is_some() {
            // Without another request for TLS.
            config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        }
        config
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsConnect<S> for ServerEndPoint {
    type Stream = BoundStream<S>;
    type Error = Infallible;
    type Future = Ready<Result<BoundStream<S>, Infallible>>;

    fn connect(self, stream: S) -> Self::Future {
        ready(Ok(BoundStream { stream, end_point: self }))
    }
}

/// A stream with the hash of the certificate of its server.
pub(crate) struct BoundStream<S> {
    stream: S,
    end_point: ServerEndPoint,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for BoundStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.end_point.0 {
            Some(hash) => ChannelBinding::tls_server_end_point(hash.clone()),
            None => ChannelBinding::none(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// The object identifier of the algorithm with which a certificate is signed.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (_, certificate, _) = element(certificate)?;
    // The certificate without the signature.
    let (_, _, rest) = element(certificate)?;
    let (_, algorithm, _) = element(rest)?;
    let (tag, identifier, _) = element(algorithm)?;
    (tag == OBJECT_IDENTIFIER).then_some(identifier)
}

/// The tag and the content of the first element in DER, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, length, rest @ ..] = bytes else { return None };
    let (length, rest) = match length {
        0..0x80 => (usize::from(*length), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            if digits.is_empty() || digits.len() > size_of::<u32>() {
                return None;
            }
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// The hash of a signature, or SHA-256 instead of MD5 and SHA-1. None for signatures without one, such as Ed25519, and
/// for RSASSA-PSS, which PostgreSQL before 16 does not support.
fn hash_of(algorithm: &[u8]) -> Option<&'static Algorithm> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    match (algorithm.strip_prefix(RSA), algorithm.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(&SHA256),
        (Some([12]), _) | (_, Some([3, 3])) => Some(&SHA384),
        (Some([13]), _) | (_, Some([3, 4])) => Some(&SHA512),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerEndPoint, element, hash_of, signature_algorithm};

    /// A certificate with this signature algorithm, and a body of more than 255 bytes.
    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let body = [&[0x30, 0x82, 0x01, 0x00][..], &[7; 256]].concat();
        let length = u8::try_from(algorithm.len()).unwrap();
        let algorithm = [&[0x30, length + 2, 0x06, length], algorithm].concat();
        let content = [body, algorithm, vec![0x03, 1, 0]].concat();
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[0x30, 0x82], &length[..], &content].concat()
    }

    #[test]
    fn hashes() {
        const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
        for (last, length) in [
            (4, Some(32)),
            (5, Some(32)),
            (11, Some(32)),
            (12, Some(48)),
            (13, Some(64)),
            (10, None),
        ] {
            let algorithm = [&RSA[..], &[last]].concat();
            let found = ServerEndPoint::of(&certificate(&algorithm)).0.map(|hash| hash.len());
            assert_eq!(found, length, "{last}");
        }
        for (algorithm, length) in [
            (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 3, 2][..], Some(32)),
            (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 3, 3], Some(48)),
            (&[0x2b, 0x65, 0x70], None),
        ] {
            let found = hash_of(algorithm).map(ring::digest::Algorithm::output_len);
            assert_eq!(found, length, "{algorithm:?}");
        }
    }

    #[test]
    fn invalid_certificates_have_no_hash() {
        let valid = certificate(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 3, 2]);
        assert!(signature_algorithm(&valid).is_some());
        for end in 0..valid.len() {
            assert_eq!(ServerEndPoint::of(&valid[..end]), ServerEndPoint::default(), "{end}");
        }
        for bytes in [&[0x30, 0x80][..], &[0x30, 0x85, 1, 1, 1, 1, 1, 0], &[0x30, 0xff]] {
            assert_eq!(element(bytes), None);
        }
    }
}
