//! A run that Python advances step by step while it steers one flow's window and pacing, for `sojourn.gym`.
//!
//! The flow's congestion control is [`Steered`]: it applies the orders that Python gave last, at each ACK, and sums up what the
//! ACKs since the last step said. Python reads this sum after each step.
//!
//! Invariant: between two steps nothing of the caller reaches the run but the orders, so the same scenario, seed and orders give
//! the same numbers, whatever time passes outside.

use crate::errors::{run_error, usage_error};
use crate::scenario::Scenario;
use pyo3::prelude::*;
use sojourn_model::Traffic;
use sojourn_sim::{Sim, Simulation};
use sojourn_transport::cc::{
    AnyCongestionControl, CaState, CongestionControl, Control, ControlSample, Info, MIN_CWND, View,
};
use sojourn_transport::ecn::{EcnRequirements, Request};
use sojourn_units::{Ecn, Span, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the control in the registry of the run.
const NAME: &str = "steered";

/// What Python ordered, and what the ACKs since the last step said.
#[derive(Clone, Copy, Debug, Default)]
struct Board {
    /// The window, segments; none before the first order.
    window: Option<u32>,
    /// The pacing rate, bytes of payload per second; none where nothing paces.
    pace: Option<u64>,
    acked: u64,
    lost: u64,
    marked: u64,
    /// Sum and number of the RTT samples, µs.
    rtt_sum: u64,
    rtts: u64,
    srtt: u32,
    min_rtt: u32,
    in_flight: u32,
    cwnd: u32,
    /// Payload of a segment, bytes.
    mss: u32,
    timeouts: u32,
}

type Shared = Arc<Mutex<Board>>;

fn lock(board: &Shared) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The control of the flow that Python steers: no law of its own. Losses and marks change nothing by themselves; after a timeout
/// the sender's own window of one segment stands until the next ACK.
#[derive(Clone, Debug)]
struct Steered {
    board: Shared,
    ecn: bool,
}

impl Steered {
    const INFO: Info = Info {
        name: NAME,
        summary: "does as its caller orders, step by step",
        source: "sojourn.gym",
        gauges: &[],
        options: &[],
    };

    fn obey(&self, view: &View, control: &mut Control) {
        let mut board = lock(&self.board);
        if let Some(window) = board.window {
            control.cwnd = window.clamp(1, control.cwnd_clamp);
        }
        if let Some(rate) = board.pace {
            (control.paced, control.pacing_rate) = (true, rate);
        }
        board.in_flight = view.in_flight();
        board.cwnd = control.cwnd;
        board.mss = view.mss;
    }
}

impl CongestionControl for Steered {
    fn ecn(&self) -> EcnRequirements {
        let request = if self.ecn { Request::AccEcn } else { Request::Off };
        EcnRequirements { request, codepoint: Ecn::Ect0, ..EcnRequirements::NONE }
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.obey(view, control);
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        {
            let mut board = lock(&self.board);
            board.acked += u64::from(sample.delivered);
            board.lost += u64::from(sample.lost);
            board.marked += u64::from(sample.ce);
            if let Some(rtt) = sample.rtt_us {
                board.rtt_sum += u64::from(rtt);
                board.rtts += 1;
            }
            board.srtt = view.rtt.srtt_us();
            board.min_rtt = view.rtt.min_us();
        }
        self.obey(view, control);
    }

    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd.max(MIN_CWND)
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, state: CaState) {
        if state == CaState::Loss && view.ca_state != CaState::Loss {
            lock(&self.board).timeouts += 1;
        }
    }
}

/// What a step observes: time since the run's origin (s); segments acknowledged, lost and marked since the last step; timeouts
/// since then; the mean RTT of its samples, the smoothed and the least RTT (s; 0 without a sample); segments in flight and the
/// window after the last ACK; payload bytes delivered since the start; whether the run is over.
type Observed = (f64, u64, u64, u64, u32, f64, f64, f64, u32, u32, u64, bool);

/// A run under way; Python steers one of its flows. Any thread may hold it and drop it.
#[pyclass(module = "sojourn._core")]
pub struct Steps {
    // In a box: its cache lines are aligned to 64 bytes, as no object of Python is.
    // In a lock, never contended: Python's collector drops it on whichever thread it runs.
    simulation: Mutex<Box<Simulation>>,
    board: Shared,
    flow: usize,
    label: String,
}

impl Steps {
    fn simulation(&self) -> MutexGuard<'_, Box<Simulation>> {
        self.simulation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Steps {
    /// A run of the scenario at its beginning, in which `flow`, a TCP flow, does as it is ordered.
    #[new]
    #[pyo3(signature = (scenario, flow, *, ecn = false))]
    fn new(py: Python<'_>, scenario: &Scenario, flow: &str, ecn: bool) -> PyResult<Self> {
        let mut own = (*scenario.resolved()).clone();
        let label = own.id();
        let names: Vec<String> = own.flows.iter().map(|flow| flow.name.clone()).collect();
        let Some(index) = names.iter().position(|name| name == flow) else {
            let help = format!("there is {}", names.join(", "));
            return Err(usage_error(py, &format!("there is no flow \"{flow}\""), Some(&help)));
        };
        let Traffic::Tcp(tcp) = &mut own.flows[index].traffic else {
            return Err(usage_error(
                py,
                &format!("the flow \"{flow}\" is not TCP"),
                Some("steer a flow with `cc`"),
            ));
        };
        NAME.clone_into(&mut tcp.cc);
        let board = Shared::default();
        let made = Arc::clone(&board);
        let sim = Sim::new().with_control(Steered::INFO, move |_| {
            AnyCongestionControl::custom(Steered { board: Arc::clone(&made), ecn })
        });
        let sim = sim.map_err(|error| usage_error(py, &error.to_string(), None))?;
        let simulation = sim.begin(&own, None).map_err(|error| run_error(py, error, &label))?;
        Ok(Self { simulation: Mutex::new(Box::new(simulation)), board, flow: index, label })
    }

    /// Advances the run by `nanos` nanoseconds, the flow having a window of `window` segments and, where it is given, a pacing rate in
    /// bit/s of payload; returns what has been observed. The orders hold from the next ACK on.
    #[pyo3(signature = (nanos, window = None, pacing = None))]
    fn step(
        &mut self,
        py: Python<'_>,
        nanos: u64,
        window: Option<u32>,
        pacing: Option<u64>,
    ) -> PyResult<Observed> {
        {
            let mut board = lock(&self.board);
            if let Some(window) = window {
                board.window = Some(window.max(1));
            }
            if let Some(rate) = pacing {
                board.pace = Some((rate / 8).max(1));
            }
        }
        let simulation = self.simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        let until = simulation.now() + Span::from_nanos(nanos);
        simulation.advance_to(until).map_err(|error| run_error(py, error, &self.label))?;
        let delivered = simulation.delivered_bytes(self.flow);
        let mut board = lock(&self.board);
        let mean = (board.rtt_sum * 1000).checked_div(board.rtts).unwrap_or(0);
        let min = if board.min_rtt == u32::MAX { 0.0 } else { f64::from(board.min_rtt) / 1e6 };
        let observed = (
            simulation.now().since(Time::ZERO).as_secs_f64(),
            board.acked,
            board.lost,
            board.marked,
            board.timeouts,
            Span::from_nanos(mean).as_secs_f64(),
            f64::from(board.srtt) / 1e6,
            min,
            board.in_flight,
            board.cwnd,
            delivered,
            simulation.now() >= simulation.end(),
        );
        (board.acked, board.lost, board.marked, board.timeouts) = (0, 0, 0, 0);
        (board.rtt_sum, board.rtts) = (0, 0);
        Ok(observed)
    }

    /// Payload of a full segment, bytes; 0 before the connection is there.
    #[getter]
    fn mss(&self) -> u32 {
        lock(&self.board).mss
    }

    /// Packets and bytes in a queue now, by its element's path (`bottleneck.down.qdisc`); None if there is no such queue.
    fn backlog(&self, element: &str) -> Option<(u64, u64)> {
        let snapshot = self.simulation().snapshot();
        let queue = snapshot.queues.iter().find(|queue| queue.element == element)?;
        Some((queue.backlog.packets.into(), queue.backlog.bytes))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Steps {} at {} s>",
            self.label,
            self.simulation().now().since(Time::ZERO).as_secs_f64()
        )
    }
}
