//! What noq-proto does in a way of its own.

use super::control::Factory;
use super::proto::congestion::ControllerFactory;
use super::proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    PathId, SendStream, ServerConfig, TimeSource, Transmit, TransportConfig, VarInt,
};
use super::{crypto, ends};
use crate::seeds::{self, Seeds};
use crate::tls;
use crate::watch::Watch;
use bytes::{Bytes, BytesMut};
use sojourn_model::Quic;
use sojourn_units::{Random, Rate};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// An endpoint, and what its client connects with.
pub(super) struct End {
    pub(super) endpoint: Endpoint,
    pub(super) client: Option<ClientConfig>,
}

/// Whoever would draw an ID draws it from here.
struct Ids(Random);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&seeds::id::<8>(&mut self.0))
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Tokens are dated; no token of another run is ever seen.
struct Epoch;

impl TimeSource for Epoch {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// The endpoint of an end.
pub(super) fn endpoint(
    quic: &Quic,
    is_client: bool,
    seeds: &Seeds,
    watch: Option<Arc<Watch>>,
) -> End {
    let mut config = EndpointConfig::new(Arc::new(crypto::ResetKey::new(seeds)));
    let ids = seeds.stream("ids");
    config.cid_generator(Arc::new(move || Box::new(Ids(ids.clone()))));
    config.rng_seed(Some(seeds.bytes("endpoint")));
    let transport = Arc::new(transport(quic, seeds, watch));
    let client = is_client.then(|| {
        let mut config = ClientConfig::new(crypto::client(quic.crypto));
        let first = Mutex::new(seeds.stream("first"));
        config.initial_dst_cid_provider(Arc::new(move || {
            let mut stream = first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            ConnectionId::new(&seeds::id::<20>(&mut stream))
        }));
        config.transport_config(Arc::clone(&transport));
        config
    });
    let server = (!is_client).then(|| {
        let key = Arc::new(crypto::TokenKey);
        let mut config = ServerConfig::new(crypto::server(quic.crypto), key);
        config.time_source(Arc::new(Epoch));
        config.transport_config(transport);
        Arc::new(config)
    });
    End { endpoint: Endpoint::new(Arc::new(config), server, true), client }
}

fn transport(quic: &Quic, seeds: &Seeds, watch: Option<Arc<Watch>>) -> TransportConfig {
    let mut config = TransportConfig::default();
    let packets = |packets: u32| u64::from(packets) * 1200;
    let factory = Factory {
        name: quic.cc.clone(),
        initial_window: quic.initial_window.map(packets),
        seed: seeds.bytes("control"),
        watch,
    };
    let factory: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(factory);
    config.congestion_controller_factory(factory);
    config.enable_segmentation_offload(quic.burst > 1);
    if let Some(every) = quic.ack_every {
        let mut ack = AckFrequencyConfig::default();
        // The threshold is of packets that need not be acknowledged at once.
        ack.ack_eliciting_threshold(VarInt::from_u32(every.saturating_sub(1)));
        ack.max_ack_delay(quic.ack_delay.map(|delay| Duration::from_nanos(delay.as_nanos())));
        config.ack_frequency_config(Some(ack));
    }
    config.max_outgoing_bytes_per_second(quic.max_pacing_rate.map(Rate::bytes_per_sec));
    if let Some(bytes) = quic.receive_window {
        config.stream_receive_window(VarInt::from_u64(bytes).unwrap_or(VarInt::MAX));
        // A connection never waits for the application's writes.
        config.send_window(bytes.saturating_mul(u64::from(quic.streams)).saturating_mul(2));
    }
    config
}

/// The client connects.
pub(super) fn connect(end: &mut End, now: Instant) -> Option<(ConnectionHandle, Connection)> {
    let config = end.client.clone()?;
    end.endpoint.connect(now, config, ends::SERVER, tls::SERVER).ok()
}

/// A datagram that has come.
pub(super) fn handle(
    end: &mut End,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    end.endpoint.handle(now, FourTuple::from_remote(from), ecn, data, buffer)
}

/// What is to be sent now.
pub(super) fn transmit(
    connection: &mut Connection,
    now: Instant,
    burst: usize,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(burst).unwrap_or(NonZeroUsize::MIN), buffer)
}

/// Writes some of this; how much was taken, none if it is to wait.
pub(super) fn write(stream: &mut SendStream<'_>, chunk: Bytes) -> Option<usize> {
    stream.write_chunks(&mut &mut [chunk][..]).ok()
}

/// Packets that were held for lost.
pub(super) fn lost(connection: &mut Connection) -> u64 {
    let path = connection.path_stats(PathId::ZERO);
    // quinn does not count probes of the path's MTU, which are lost by nature.
    path.map_or(0, |path| path.lost_packets - path.lost_plpmtud_probes)
}

/// The smoothed RTT.
pub(super) fn srtt(connection: &Connection) -> Option<Duration> {
    connection.rtt(PathId::ZERO)
}
