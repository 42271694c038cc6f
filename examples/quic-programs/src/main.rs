//! A download over QUIC between two programs: the implementations that the simulator has, on real sockets.
//!
//!     quic-programs server quinn cubic
//!     quic-programs client quinn cubic 60
//!
//! The client opens a stream without data, the server answers on it without end, and after so many seconds the client closes the
//! connection. Everything is the implementations' default but the congestion control. With `exact` behind the control the
//! server's timers are the kernel's (timerfd) and not tokio's, which end at whole milliseconds: docs/quic.md says what that changes.

mod timer;

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use timer::Timer;

type Outcome = Result<(), Box<dyn Error>>;

/// The port of the server.
const PORT: u16 = 4433;

/// Accepts the server's certificate, whatever it is: who the server is is not what is asked here.
#[derive(Debug)]
struct Anyone(rustls::crypto::CryptoProvider);

impl rustls::client::danger::ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3 alone".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn client_tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = rustls::crypto::ring::default_provider();
    let versions = rustls::ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut config = versions
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

fn server_tls() -> Result<rustls::ServerConfig, Box<dyn Error>> {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let certificate = rcgen::CertificateParams::new(["server".to_owned()])?.self_signed(&key)?;
    let provider = rustls::crypto::ring::default_provider();
    let versions = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = versions
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())?;
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// tokio with the kernel's timers, for one of the implementations.
macro_rules! exact {
    ($socket:ty) => {
        #[derive(Debug)]
        struct Exact;

        impl quic::AsyncTimer for Timer {
            fn reset(mut self: Pin<&mut Self>, at: Instant) {
                self.arm(at);
            }

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                self.wait(cx)
            }
        }

        impl quic::Runtime for Exact {
            fn new_timer(&self, at: Instant) -> Pin<Box<dyn quic::AsyncTimer>> {
                Box::pin(Timer::new(at))
            }

            fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
                quic::Runtime::spawn(&quic::TokioRuntime, future);
            }

            fn wrap_udp_socket(&self, socket: UdpSocket) -> std::io::Result<$socket> {
                quic::Runtime::wrap_udp_socket(&quic::TokioRuntime, socket)
            }
        }
    };
}

/// Both ends with one implementation: quinn and noq have one ancestor, and nearly one interface.
macro_rules! ends {
    ($name:ident, $socket:ty, { $($control:literal => $factory:expr),* $(,)? }) => {
        mod $name {
            use super::*;
            use ::$name as quic;
            use quic::crypto::rustls::{QuicClientConfig, QuicServerConfig};

            exact!($socket);

            fn transport(cc: &str) -> Result<Arc<quic::TransportConfig>, String> {
                let mut transport = quic::TransportConfig::default();
                match cc {
                    $($control => { transport.congestion_controller_factory(Arc::new($factory)); })*
                    other => return Err(format!("there is no congestion control {other}")),
                }
                Ok(Arc::new(transport))
            }

            pub(super) async fn server(cc: &str, is_exact: bool) -> Outcome {
                let tls = QuicServerConfig::try_from(server_tls()?)?;
                let mut config = quic::ServerConfig::with_crypto(Arc::new(tls));
                config.transport_config(transport(cc)?);
                let socket = UdpSocket::bind(("0.0.0.0", PORT))?;
                let runtime: Arc<dyn quic::Runtime> =
                    if is_exact { Arc::new(Exact) } else { Arc::new(quic::TokioRuntime) };
                let endpoint = quic::Endpoint::new(quic::EndpointConfig::default(), Some(config), socket, runtime)?;
                let connection = endpoint.accept().await.ok_or("nobody came")?.await?;
                let (mut send, _) = connection.accept_bi().await?;
                let zeros = [0_u8; 1 << 16];
                while send.write_all(&zeros).await.is_ok() {}
                Ok(())
            }

            pub(super) async fn client(cc: &str, seconds: u64) -> Outcome {
                #[allow(unused_mut, reason = "one of the two wants it")]
                let mut endpoint = quic::Endpoint::client(([0, 0, 0, 0], 0).into())?;
                let tls = QuicClientConfig::try_from(client_tls()?)?;
                let mut config = quic::ClientConfig::new(Arc::new(tls));
                config.transport_config(transport(cc)?);
                endpoint.set_default_client_config(config);
                let address = std::env::var("SOJOURN_SERVER").unwrap_or_else(|_| "127.0.0.1".to_owned());
                let address: std::net::IpAddr = address.parse()?;
                let connection = endpoint.connect((address, PORT).into(), "server")?.await?;
                let (mut send, mut receive) = connection.open_bi().await?;
                send.finish()?;
                let mut room = vec![0_u8; 1 << 16];
                let mut bytes = 0;
                let all = async {
                    while let Ok(Some(some)) = receive.read(&mut room).await {
                        bytes += some as u64;
                    }
                };
                let _ = tokio::time::timeout(Duration::from_secs(seconds), all).await;
                connection.close(0_u32.into(), b"");
                endpoint.wait_idle().await;
                println!("{bytes} bytes in {seconds} s");
                Ok(())
            }
        }
    };
}

ends!(quinn, Arc<dyn quic::AsyncUdpSocket>, {
    "cubic" => quic::congestion::CubicConfig::default(),
    "newreno" => quic::congestion::NewRenoConfig::default(),
    "bbr" => quic::congestion::BbrConfig::default(),
});

ends!(noq, Box<dyn quic::AsyncUdpSocket>, {
    "cubic" => quic::congestion::CubicConfig::default(),
    "newreno" => quic::congestion::NewRenoConfig::default(),
    "bbr3" => quic::congestion::Bbr3Config::default(),
});

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", "quinn", cc] => quinn::server(cc, false).await,
        ["server", "quinn", cc, "exact"] => quinn::server(cc, true).await,
        ["server", "noq", cc] => noq::server(cc, false).await,
        ["server", "noq", cc, "exact"] => noq::server(cc, true).await,
        ["client", "quinn", cc, seconds] => quinn::client(cc, seconds.parse()?).await,
        ["client", "noq", cc, seconds] => noq::client(cc, seconds.parse()?).await,
        _ => Err(
            "quic-programs server quinn|noq CC [exact], quic-programs client quinn|noq CC SECONDS"
                .into(),
        ),
    }
}
