//! quinn's traits of cryptography: TLS, or nothing in its place.

use super::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use super::proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{ConnectError, ConnectionId, Side, TransportError};
use crate::null::{self, Handshake, Step};
use crate::seeds::{self, Seeds};
use crate::tls;
use bytes::BytesMut;
use core::any::Any;
use sojourn_model::QuicCrypto;
use std::sync::Arc;

/// What a client starts its sessions with.
pub(super) fn client(crypto: QuicCrypto) -> Arc<dyn ClientConfig> {
    match crypto {
        QuicCrypto::Null => Arc::new(Null),
        QuicCrypto::Tls => Arc::new(
            QuicClientConfig::try_from(tls::client()).expect("ring has the initial cipher suite"),
        ),
    }
}

/// What a server starts its sessions with.
pub(super) fn server(crypto: QuicCrypto) -> Arc<dyn ServerConfig> {
    match crypto {
        QuicCrypto::Null => Arc::new(Null),
        QuicCrypto::Tls => Arc::new(
            QuicServerConfig::try_from(tls::server()).expect("ring has the initial cipher suite"),
        ),
    }
}

/// No cryptography.
struct Null;

fn session(side: Side, params: &TransportParameters) -> Box<dyn Session> {
    let mut parameters = Vec::new();
    params.write(&mut parameters);
    Box::new(NullSession { side, handshake: Handshake::new(side.is_client(), parameters) })
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Null), remote: Box::new(Null) },
        packet: KeyPair { local: Box::new(Null), remote: Box::new(Null) },
    }
}

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(session(Side::Client, params))
    }
}

impl ServerConfig for Null {
    fn initial_keys(
        &self,
        _version: u32,
        _dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; null::TAG]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        session(Side::Server, params)
    }
}

struct NullSession {
    side: Side,
    handshake: Handshake,
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.handshake.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.handshake.read(buf);
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(peer) = &self.handshake.peer else { return Ok(None) };
        Ok(Some(TransportParameters::read(self.side, &mut peer.as_slice())?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        (self.handshake.write(buf) == Step::Keys).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _body: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}

impl PacketKey for Null {
    /// Nobody reads the buffer at the place of the tag.
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(null::TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        null::TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        null::CONFIDENTIALITY_LIMIT
    }

    fn integrity_limit(&self) -> u64 {
        null::INTEGRITY_LIMIT
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        null::SAMPLE
    }
}

/// The key for tokens of stateless resets.
pub(super) struct ResetKey(u64);

impl ResetKey {
    pub(super) fn new(seeds: &Seeds) -> Self {
        Self(seeds.stream("reset").next_u64())
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        seeds::digest(self.0, data, signature_out);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut right = vec![0; signature.len()];
        self.sign(data, &mut right);
        if right == signature { Ok(()) } else { Err(CryptoError) }
    }
}

/// Tokens that validate addresses are neither asked for nor sent: no server of these asks a client to come again.
pub(super) struct TokenKey;

impl HandshakeTokenKey for TokenKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for TokenKey {
    fn seal(&self, data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; null::TAG]);
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        _additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        let length = data.len().checked_sub(null::TAG).ok_or(CryptoError)?;
        Ok(&mut data[..length])
    }
}
