//! A congestion control in Python as one of ours.

use super::answer::Answer;
use super::class::ControlClass;
use super::fault::Wrong;
use super::view::{News, View};
use core::fmt;
use pyo3::prelude::*;
use sojourn_engine::Fault;
use sojourn_transport::cc::{
    AckSample, CaState, CongestionControl, Control, ControlSample, MIN_CWND, View as Connection,
};
use sojourn_transport::ecn::EcnRequirements;
use sojourn_units::Random;
use std::sync::Arc;

/// The hooks of a class, those that it has.
struct Hooks {
    ack: Py<PyAny>,
    loss: Py<PyAny>,
    start: Option<Py<PyAny>>,
    rtt_round: Option<Py<PyAny>>,
    timeout: Option<Py<PyAny>>,
}

/// The control of one connection.
pub struct PythonControl {
    class: Arc<ControlClass>,
    object: Py<PyAny>,
    hooks: Hooks,
    view: Py<View>,
    /// Where the round trip ends that is under way; none before the first ACK.
    round_end: Option<u32>,
    /// The counts of marks and losses when `on_ack` was last called.
    counted: (u32, u32),
    /// The RTT sample of the ACK that is being handled.
    rtt_us: Option<u32>,
    /// What `on_loss` has answered, until the state changes.
    pending: Option<Answer>,
    /// Whether it has ever set a pacing rate.
    paces: bool,
}

impl PythonControl {
    /// One for a connection that has sent nothing.
    pub fn new(class: &Arc<ControlClass>) -> Self {
        let made = Python::attach(|py| {
            let object =
                class.class.bind(py).call0().map_err(|e| Wrong::of(py, e, &class.file.path))?;
            Self::around(py, class, object, None)
        });
        made.unwrap_or_else(|wrong| class.fault(wrong).raise())
    }

    fn around(
        py: Python<'_>,
        class: &Arc<ControlClass>,
        object: Bound<'_, PyAny>,
        random: Option<Random>,
    ) -> Result<Self, Wrong> {
        let made = || -> PyResult<Self> {
            let hook = |name: &str| object.getattr(name).map(Bound::unbind);
            let optional = |name: &str| class.hooks.contains(name).then(|| hook(name)).transpose();
            let hooks = Hooks {
                ack: hook("on_ack")?,
                loss: hook("on_loss")?,
                start: optional("on_start")?,
                rtt_round: optional("on_rtt_round")?,
                timeout: optional("on_timeout")?,
            };
            Ok(Self {
                class: Arc::clone(class),
                view: Py::new(py, View::new(random))?,
                object: object.clone().unbind(),
                hooks,
                round_end: None,
                counted: (0, 0),
                rtt_us: None,
                pending: None,
                paces: false,
            })
        };
        made().map_err(|error| Wrong::of(py, error, &class.file.path))
    }

    /// Calls a hook. An error in it ends the run.
    fn call(&self, hook: &Py<PyAny>, view: &Connection, control: &Control, acked: u32) -> Answer {
        let news = News {
            acked,
            marked: view.delivered_ce.wrapping_sub(self.counted.0),
            lost: view.lost.wrapping_sub(self.counted.1),
            rtt_us: self.rtt_us,
        };
        let answer: Result<Answer, Fault> = Python::attach(|py| {
            self.view.borrow_mut(py).fill(view, control, news);
            let returned = hook.bind(py).call1((&self.view,));
            let returned =
                returned.map_err(|e| self.class.fault(Wrong::of(py, e, &self.class.file.path)))?;
            let answer = Answer::read(&returned);
            let answer =
                answer.ok_or_else(|| self.class.fault(not_an_answer(py, hook, &returned)))?;
            if answer.pacing.is_some() && !self.class.full_control {
                return Err(self.class.fault(Wrong {
                    message: format!(
                        "{} returned a pacing rate, and full_control is False",
                        called(py, hook)
                    ),
                    help: "write full_control = True in the class, or return the window alone"
                        .to_owned(),
                }));
            }
            Ok(answer)
        });
        answer.unwrap_or_else(|fault| fault.raise())
    }

    /// An ACK has come: the round trip, and the window.
    fn ack(&mut self, view: &Connection, control: &mut Control, acked: u32) {
        let is_over = self.round_end.is_none_or(|end| view.una.wrapping_sub(end) < 1 << 31);
        if is_over {
            let is_first = self.round_end.replace(view.nxt).is_none();
            if let Some(hook) = self.hooks.rtt_round.as_ref().filter(|_| !is_first) {
                let answer = self.call(hook, view, control, acked);
                self.set(answer, view, control);
            }
        }
        let answer = self.call(&self.hooks.ack, view, control, acked);
        self.set(answer, view, control);
        self.counted = (view.delivered_ce, view.lost);
        self.rtt_us = None;
    }

    /// Does as was answered.
    fn set(&mut self, answer: Answer, view: &Connection, control: &mut Control) {
        if let Some(window) = answer.window {
            control.cwnd = window.min(control.cwnd_clamp);
        }
        if let Some(rate) = answer.pacing {
            (self.paces, control.paced, control.pacing_rate) = (true, true, rate);
        }
        if self.class.full_control && !self.paces && view.rtt.srtt_us() > 0 {
            // As Linux paces what sets no rate: 120 % of window/RTT (`tcp_update_pacing_rate`).
            let window = u64::from(control.cwnd) * u64::from(view.mss);
            control.pacing_rate = window * 1_200_000 / u64::from(view.rtt.srtt_us());
        }
    }
}

/// A method by its class, with the line where it is written.
fn called(py: Python<'_>, hook: &Py<PyAny>) -> String {
    let describe = || -> PyResult<String> {
        let place: String =
            py.import("sojourn.custom.faults")?.call_method1("place", (hook,))?.extract()?;
        let name: String = hook.bind(py).getattr("__qualname__")?.extract()?;
        Ok(format!("{place}{name}"))
    };
    describe().unwrap_or_else(|_| "a hook".to_owned())
}

fn not_an_answer(py: Python<'_>, hook: &Py<PyAny>, returned: &Bound<'_, PyAny>) -> Wrong {
    let shown = returned.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    Wrong {
        message: format!("{} returned {shown}", called(py, hook)),
        help: "return a window in segments, 1 or more; (window, pacing rate in bit/s); or None"
            .to_owned(),
    }
}

impl CongestionControl for PythonControl {
    fn seed(&mut self, random: Random) {
        Python::attach(|py| *self.view.borrow_mut(py).stream() = Some(random));
    }

    fn ecn(&self) -> EcnRequirements {
        self.class.ecn
    }

    fn has_cong_control(&self) -> bool {
        self.class.full_control
    }

    fn init(&mut self, view: &Connection, control: &mut Control) {
        if let Some(hook) = &self.hooks.start {
            let answer = self.call(hook, view, control, 0);
            self.set(answer, view, control);
        }
    }

    fn ssthresh(&mut self, view: &Connection, control: &Control) -> u32 {
        let answer = self.call(&self.hooks.loss, view, control, 0);
        self.pending = self.class.full_control.then_some(answer);
        answer.window.unwrap_or(control.cwnd).max(MIN_CWND)
    }

    fn cong_control(&mut self, view: &Connection, control: &mut Control, sample: &ControlSample) {
        self.rtt_us = sample.rtt_us;
        self.ack(view, control, sample.delivered);
    }

    fn cong_avoid(&mut self, view: &Connection, control: &mut Control, acked: u32) {
        self.ack(view, control, acked);
    }

    fn pkts_acked(&mut self, _view: &Connection, _control: &mut Control, sample: AckSample) {
        self.rtt_us = sample.rtt_us;
    }

    fn set_state(&mut self, view: &Connection, control: &mut Control, state: CaState) {
        let pending = self.pending.take();
        match state {
            CaState::Cwr | CaState::Recovery => {
                if let Some(mut answer) = pending {
                    answer.window = answer.window.map(|window| window.max(MIN_CWND));
                    self.set(answer, view, control);
                }
            }
            CaState::Loss => {
                let Some(hook) = &self.hooks.timeout else { return };
                let answer = self.call(hook, view, control, 0);
                if self.class.full_control {
                    self.set(answer, view, control);
                } else if let Some(threshold) = answer.window {
                    control.ssthresh = threshold.max(MIN_CWND);
                }
            }
            CaState::Open | CaState::Disorder => {}
        }
    }

    fn gauges(
        &self,
        _view: &Connection,
        _control: &Control,
        out: &mut dyn FnMut(&'static str, f64),
    ) {
        if self.class.gauges.is_empty() {
            return;
        }
        let read: Result<Vec<f64>, Wrong> = Python::attach(|py| {
            self.class.gauges.iter().map(|g| g.read(self.object.bind(py))).collect()
        });
        let values = read.unwrap_or_else(|wrong| self.class.fault(wrong).raise());
        for (gauge, value) in self.class.gauges.iter().zip(values) {
            out(gauge.name, value);
        }
    }
}

impl Clone for PythonControl {
    fn clone(&self) -> Self {
        let copied = Python::attach(|py| {
            let copy = || -> PyResult<Bound<'_, PyAny>> {
                py.import("copy")?.call_method1("deepcopy", (&self.object,))
            };
            let object = copy().map_err(|error| Wrong::of(py, error, &self.class.file.path))?;
            let random = self.view.borrow_mut(py).stream().clone();
            Self::around(py, &self.class, object, random)
        });
        let own = copied.unwrap_or_else(|wrong| self.class.fault(wrong).raise());
        let Self { round_end, counted, rtt_us, pending, paces, .. } = *self;
        Self { round_end, counted, rtt_us, pending, paces, ..own }
    }
}

impl fmt::Debug for PythonControl {
    /// Its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.name)
    }
}
