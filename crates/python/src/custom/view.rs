//! A connection as a congestion control in Python reads it.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sojourn_transport::cc::{CaState, Control, View as Connection};
use sojourn_units::Random;

/// The connection as a congestion control reads it. It is filled again for each call.
#[pyclass(module = "sojourn._core")]
pub struct View {
    /// Time since the run began, nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// Segments that this ACK has newly delivered; 0 where no ACK is handled.
    #[pyo3(get)]
    acked: u32,
    /// Segments newly known to be marked CE since the last call of `on_ack`.
    #[pyo3(get)]
    marked: u32,
    /// Segments newly taken for lost since the last call of `on_ack`.
    #[pyo3(get)]
    lost: u32,
    /// RTT of the newest segment that this ACK is of, microseconds; None if it gave no sample.
    #[pyo3(get)]
    rtt_us: Option<u32>,
    /// Smoothed RTT, microseconds; 0 before the first sample.
    #[pyo3(get)]
    srtt_us: u32,
    /// Lowest RTT of the last 300 s, microseconds; None before the first sample.
    #[pyo3(get)]
    min_rtt_us: Option<u32>,
    /// Congestion window, segments.
    #[pyo3(get)]
    cwnd: u32,
    /// Slow-start threshold, segments; 0x7fff_ffff before anything has set it.
    #[pyo3(get)]
    ssthresh: u32,
    /// Congestion window when the last reduction began, segments.
    #[pyo3(get)]
    prior_cwnd: u32,
    /// Segments in the network.
    #[pyo3(get)]
    in_flight: u32,
    /// Segments delivered so far.
    #[pyo3(get)]
    delivered: u32,
    /// Payload of a full segment, bytes.
    #[pyo3(get)]
    mss: u32,
    /// The latest delivery-rate sample, bits of payload per second; 0 before the first.
    #[pyo3(get)]
    delivery_rate: u64,
    /// The rate at which the connection is paced, or would be, bits of payload per second.
    #[pyo3(get)]
    pacing_rate: u64,
    /// Whether the window limits the flow: a window that is not used must not grow.
    #[pyo3(get)]
    cwnd_limited: bool,
    /// Whether the application pauses.
    #[pyo3(get)]
    app_limited: bool,
    /// State of loss recovery: open, disorder, cwr, recovery or loss.
    #[pyo3(get)]
    state: &'static str,
    random: Option<Random>,
}

#[pymethods]
impl View {
    /// A random number of this connection's own stream, uniform in [0, 1). It depends on the run's seed alone.
    fn random(&mut self) -> PyResult<f64> {
        let random = self.random.as_mut();
        random.map(Random::unit).ok_or_else(|| PyRuntimeError::new_err("there is no stream yet"))
    }
}

/// What of a view the connection itself does not have.
#[derive(Clone, Copy, Default)]
pub struct News {
    /// [`View::acked`].
    pub acked: u32,
    /// [`View::marked`].
    pub marked: u32,
    /// [`View::lost`].
    pub lost: u32,
    /// [`View::rtt_us`].
    pub rtt_us: Option<u32>,
}

impl View {
    /// Of a connection that has sent nothing.
    pub const fn new(random: Option<Random>) -> Self {
        Self {
            now_ns: 0,
            acked: 0,
            marked: 0,
            lost: 0,
            rtt_us: None,
            srtt_us: 0,
            min_rtt_us: None,
            cwnd: 0,
            ssthresh: 0,
            prior_cwnd: 0,
            in_flight: 0,
            delivered: 0,
            mss: 0,
            delivery_rate: 0,
            pacing_rate: 0,
            cwnd_limited: false,
            app_limited: false,
            state: "open",
            random,
        }
    }

    /// The stream to draw from.
    pub const fn stream(&mut self) -> &mut Option<Random> {
        &mut self.random
    }

    /// Takes over what the connection says now.
    pub fn fill(&mut self, view: &Connection, control: &Control, news: News) {
        let samples = view.rtt.samples();
        self.now_ns = view.now.as_nanos();
        self.acked = news.acked;
        self.marked = news.marked;
        self.lost = news.lost;
        self.rtt_us = news.rtt_us;
        self.srtt_us = view.rtt.srtt_us();
        self.min_rtt_us = (samples > 0).then(|| view.rtt.min_us());
        self.cwnd = control.cwnd;
        self.ssthresh = control.ssthresh;
        self.prior_cwnd = view.prior_cwnd;
        self.in_flight = view.in_flight();
        self.delivered = view.delivered;
        self.mss = view.mss;
        self.delivery_rate = view.delivery_rate() * 8;
        self.pacing_rate = control.effective_pacing_rate(view) * 8;
        self.cwnd_limited = control.is_cwnd_limited(view);
        self.app_limited = view.app_limited.is_some();
        self.state = match view.ca_state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        };
    }
}
