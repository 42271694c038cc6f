//! noq's congestion controls, watched.

use super::bbr3::{Bbr3, Bbr3Config, seeded};
use super::proto::RttEstimator;
use super::proto::congestion::{
    Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use crate::watch::{Delivery, Watch};
use core::any::Any;
use core::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Makes the control of this name.
pub(super) struct Factory {
    pub(super) name: String,
    /// In bytes.
    pub(super) initial_window: Option<u64>,
    pub(super) seed: [u8; 16],
    pub(super) watch: Option<Arc<Watch>>,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        macro_rules! control {
            ($config:expr) => {{
                let mut config = $config;
                if let Some(bytes) = self.initial_window {
                    config.initial_window(bytes);
                }
                Arc::new(config).build(now, current_mtu)
            }};
        }
        let bbr3 = || -> Bbr3Config { seeded(self.seed) };
        let inner = match self.name.as_str() {
            "newreno" => Inner::Silent(control!(NewRenoConfig::default())),
            "bbr3" => Inner::of_bbr3(control!(bbr3())),
            _ => Inner::Silent(control!(CubicConfig::default())),
        };
        match &self.watch {
            Some(watch) => Box::new(Watched::new(inner, Arc::clone(watch), now)),
            None => inner.into_control(),
        }
    }
}

/// A control, with its own reports.
#[derive(Debug)]
enum Inner {
    /// One that keeps its numbers to itself.
    Silent(Box<dyn Controller>),
    /// One that reports its model.
    Bbr3(Box<Bbr3>),
}

impl Inner {
    /// BBRv3 as the implementation's factory hands it out.
    fn of_bbr3(control: Box<dyn Controller>) -> Self {
        match control.into_any().downcast::<Bbr3>() {
            Ok(bbr3) => Self::Bbr3(bbr3),
            Err(_) => unreachable!("the factory of BBRv3 makes BBRv3"),
        }
    }

    fn into_control(self) -> Box<dyn Controller> {
        match self {
            Self::Silent(control) => control,
            Self::Bbr3(bbr3) => bbr3,
        }
    }

    fn duplicate(&self) -> Self {
        match self {
            Self::Silent(control) => Self::Silent(control.clone_box()),
            Self::Bbr3(bbr3) => Self::Bbr3(bbr3.clone()),
        }
    }
}

impl Deref for Inner {
    type Target = dyn Controller;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Silent(control) => &**control,
            Self::Bbr3(bbr3) => &**bbr3,
        }
    }
}

impl DerefMut for Inner {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Silent(control) => &mut **control,
            Self::Bbr3(bbr3) => &mut **bbr3,
        }
    }
}

/// A control that is watched.
#[derive(Debug)]
struct Watched {
    inner: Inner,
    watch: Arc<Watch>,
    /// When the packet was sent that was acknowledged last.
    sent: Option<Instant>,
    /// When the last congestion event was.
    event: Option<Instant>,
    delivery: Delivery,
}

impl Watched {
    fn new(inner: Inner, watch: Arc<Watch>, now: Instant) -> Self {
        let delivery = Delivery::new(now);
        let watched = Self { inner, watch, sent: None, event: None, delivery };
        watched.note();
        watched
    }

    fn note(&self) {
        let metrics = self.inner.metrics();
        self.watch.window.set(self.inner.window());
        self.watch.ssthresh.set(metrics.ssthresh.unwrap_or(u64::MAX));
        self.watch.pacing.set(metrics.pacing_rate.map_or(0, |bytes| bytes.saturating_mul(8)));
        if let Inner::Bbr3(bbr3) = &self.inner {
            self.watch.model.set(bbr3.model());
        }
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.delivery.sent(now, self.watch.in_flight.get());
        self.watch.in_flight.add(bytes);
        self.inner.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.watch.acked.add(1);
        self.delivery.acked(bytes);
        self.sent = self.sent.max(Some(sent));
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        self.watch.in_flight.set(in_flight);
        if let Some(sent) = self.sent.take() {
            self.watch.sample(now.saturating_duration_since(sent));
            if let Some(rate) = self.delivery.sample(now, sent) {
                self.watch.rate.set(rate);
            }
            if self.event.is_some_and(|event| sent > event) {
                self.event = None;
                self.watch.recovering.set(0);
            }
        }
        self.note();
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        // A packet from before the last event is no event of its own (RFC 9002 §7.3.2).
        if self.event.is_none_or(|event| sent > event) {
            self.watch.event(is_ecn, is_persistent_congestion);
            self.event = Some(now);
        }
        self.watch.in_flight.sub(lost_bytes);
        self.watch.touched.add(1);
        let persistent = is_persistent_congestion;
        self.inner.on_congestion_event(now, sent, persistent, is_ecn, lost_bytes, largest_lost_pn);
        self.note();
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
        self.note();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.note();
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, delay: Duration) {
        self.inner.on_ack_frequency_update(threshold, delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.duplicate(),
            watch: Arc::clone(&self.watch),
            sent: self.sent,
            event: self.event,
            delivery: self.delivery.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_control().into_any()
    }
}
