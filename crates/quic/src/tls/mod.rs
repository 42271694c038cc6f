//! TLS 1.3 by rustls and ring, with a certificate of its own that is known to everybody: it keeps no secret.
//!
//! The certificate's key is Ed25519, which has signatures of one length, and no session tickets are sent: so the
//! messages of two handshakes differ in their bytes and in nothing else.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};
use std::sync::{Arc, LazyLock};

/// The name that the certificate is for.
pub(crate) const SERVER: &str = "server.test";

static CERTIFICATE: &[u8] = include_bytes!("certificate.der");
static KEY: &[u8] = include_bytes!("key.der");

static CLIENT: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Known(Arc::clone(&provider)));
    let versions = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let mut config = versions
        .expect("ring has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    Arc::new(config)
});

static SERVERS: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY.to_vec()));
    let mut config = versions
        .expect("ring has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
        .expect("the key is the certificate's");
    config.send_tls13_tickets = 0;
    Arc::new(config)
});

/// What every client uses.
pub(crate) fn client() -> Arc<ClientConfig> {
    Arc::clone(&CLIENT)
}

/// What every server uses.
pub(crate) fn server() -> Arc<ServerConfig> {
    Arc::clone(&SERVERS)
}

/// Knows the one certificate by its bytes. Its dates are not looked at: there is no date in a simulation.
#[derive(Debug)]
struct Known(Arc<CryptoProvider>);

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General("another certificate than the one that is known".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC is not over TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null::{Handshake, Step, len};
    use rustls::quic::{ClientConnection, ServerConnection, Version};

    /// Two messages contain the transport parameters as they are, and two bytes more each when they are long.
    const PARAMETERS: usize = 100;

    /// Lengths of the client's hello, the server's, the server's flight and the client's finish.
    fn lengths() -> [usize; 4] {
        let (parameters, version) = (vec![0; PARAMETERS], Version::V1);
        let name = ServerName::try_from(SERVER).unwrap();
        let client = ClientConnection::new(client(), version, name, parameters.clone());
        let (mut client, mut lengths) = (client.unwrap(), [0; 4]);
        let mut server = ServerConnection::new(server(), version, parameters).unwrap();
        let mut message = Vec::new();
        assert!(client.write_hs(&mut message).is_none());
        lengths[0] = message.len();
        server.read_hs(&message).unwrap();
        message.clear();
        assert!(server.write_hs(&mut message).is_some());
        lengths[1] = message.len();
        client.read_hs(&message).unwrap();
        message.clear();
        assert!(client.write_hs(&mut message).is_some() && message.is_empty());
        assert!(server.write_hs(&mut message).is_some());
        lengths[2] = message.len();
        client.read_hs(&message).unwrap();
        message.clear();
        assert!(client.write_hs(&mut message).is_some());
        lengths[3] = message.len();
        server.read_hs(&message).unwrap();
        message.clear();
        server.write_hs(&mut message);
        assert!(message.is_empty() && !client.is_handshaking() && !server.is_handshaking());
        lengths
    }

    #[test]
    fn handshakes_have_the_lengths_that_stand_in_for_them() {
        let expected = [
            len::CLIENT_HELLO + PARAMETERS,
            len::SERVER_HELLO,
            len::SERVER_FLIGHT + PARAMETERS,
            len::FINISHED,
        ];
        for _ in 0..20 {
            assert_eq!(lengths(), expected);
        }
    }

    #[test]
    fn a_null_handshake_goes_the_same_way() {
        let mut client = Handshake::new(true, vec![1; PARAMETERS]);
        let mut server = Handshake::new(false, vec![2; PARAMETERS]);
        let mut message = Vec::new();
        assert_eq!(client.write(&mut message), Step::Nothing);
        assert_eq!(message.len(), len::CLIENT_HELLO + PARAMETERS);
        // It may come in pieces.
        server.read(&message[..70]);
        assert!(server.peer.is_none());
        server.read(&message[70..]);
        assert_eq!(server.peer.as_deref(), Some(&[1; PARAMETERS][..]));
        for expected in [len::SERVER_HELLO, len::SERVER_FLIGHT + PARAMETERS] {
            message.clear();
            assert_eq!(server.write(&mut message), Step::Keys);
            assert_eq!(message.len(), expected);
            client.read(&message);
            if client.is_handshaking() {
                message.clear();
                assert_eq!(client.write(&mut message), Step::Keys);
                assert!(message.is_empty());
            }
        }
        assert_eq!(client.peer.as_deref(), Some(&[2; PARAMETERS][..]));
        assert!(!client.is_handshaking() && server.is_handshaking());
        message.clear();
        assert_eq!(client.write(&mut message), Step::Keys);
        server.read(&message);
        assert!(!server.is_handshaking());
    }
}
