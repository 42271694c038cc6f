//! A plugin's congestion control as one of ours, and the calls of its hooks.

#![allow(unsafe_code)]

use crate::call::{Call, Said};
use crate::mirror;
use crate::tables::ControlEntry;
use core::ffi::c_void;
use core::fmt;
use core::ptr::NonNull;
use sojourn_engine::Fault;
use sojourn_qdisc::NoPacket;
use sojourn_transport::cc::{
    AckEvent, AckSample, CaState, CongestionControl, Control, ControlSample, Event, LostSegment,
    MIN_CWND, OptionValue, View,
};
use sojourn_transport::ecn::EcnRequirements;
use sojourn_units::Random;
use std::sync::Arc;

/// Functions are there: the table was checked when it was read.
const CHECKED: &str = "the table was checked";

/// One connection's control behind C's pointer.
pub(crate) struct PluginControl {
    raw: NonNull<c_void>,
    entry: Arc<ControlEntry>,
    /// Of its own, from when the connection opens on.
    random: Option<Random>,
}

// SAFETY: the ABI says that a control may be used by any thread, by one at a time, and this is not `Sync`.
unsafe impl Send for PluginControl {}

impl PluginControl {
    /// One for a connection that has sent nothing.
    pub(crate) fn new(entry: &Arc<ControlEntry>) -> Self {
        let mut call = Call::<NoPacket>::looking();
        let create = entry.table.create.expect(CHECKED);
        // SAFETY: the library is loaded as long as the entry is.
        let raw = unsafe { create(call.as_host()) };
        Self::made(raw, entry, None, call)
    }

    fn made(
        raw: *mut c_void,
        entry: &Arc<ControlEntry>,
        random: Option<Random>,
        call: Call<'_, NoPacket>,
    ) -> Self {
        check(entry, call.done());
        match NonNull::new(raw) {
            Some(raw) => Self { raw, entry: Arc::clone(entry), random },
            None => fail(entry, "it made nothing and did not say why"),
        }
    }
}

/// Ends the run.
#[cold]
fn fail(entry: &ControlEntry, what: &str) -> ! {
    let (file, name) = (&entry.file, entry.info.name);
    Fault {
        why: format!("the plugin {file}, congestion control \"{name}\": {what}"),
        help: "this is a mistake in the plugin: fix it, and build it again".to_owned(),
    }
    .raise()
}

/// Ends the run unless the call said nothing.
fn check(entry: &ControlEntry, done: Result<(), Said>) {
    if let Err(Said::Failed(what) | Said::Refused(what)) = done {
        fail(entry, &what);
    }
}

/// Calls a hook that may be missing and may set something; takes over the values that it has set.
macro_rules! hook {
    ($self:ident, $function:ident, $view:ident, $control:ident $(, $argument:expr)*) => {
        if let Some(function) = $self.entry.table.$function {
            let view = mirror::view($view);
            let mut control = mirror::control($control);
            let mut call = Call::<NoPacket>::drawing($self.random.as_mut());
            // SAFETY: the library is loaded as long as the entry is; its `create` or `clone` made `raw`, and nobody
            // else refers to it now; the other pointers are good for the call.
            unsafe {
                function($self.raw.as_ptr(), call.as_host(), &raw const view, &raw mut control
                    $(, $argument)*);
            }
            check(&$self.entry, call.done());
            mirror::take_over(&control, $control);
        }
    };
}

/// Calls a hook that may be missing and sets nothing.
macro_rules! ask {
    ($self:ident, $function:ident, $call:expr, $view:ident, $control:ident $(, $argument:expr)*) => {
        $self.entry.table.$function.map(|function| {
            let view = mirror::view($view);
            let control = mirror::control($control);
            let mut call = $call;
            // SAFETY: as in `hook`.
            let answer = unsafe {
                function($self.raw.as_ptr(), call.as_host(), &raw const view, &raw const control
                    $(, $argument)*)
            };
            check(&$self.entry, call.done());
            answer
        })
    };
}

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl CongestionControl for PluginControl {
    fn seed(&mut self, random: Random) {
        self.random = Some(random);
    }

    // The interface has no table of options for controls, so that none can be given.
    fn set(&mut self, _option: &'static str, _value: OptionValue) {}

    fn ecn(&self) -> EcnRequirements {
        self.entry.ecn
    }

    fn has_cong_control(&self) -> bool {
        self.entry.table.has_cong_control
    }

    // The interface has no word for it: a plugin that ends slow start by itself still does.
    fn leave_slow_start_to_others(&mut self) {}

    // Nor for this: its reductions are proportional.
    fn reduce(
        &mut self,
        _view: &View,
        _control: &mut Control,
        _delivered: u32,
        _lost: u32,
    ) -> bool {
        false
    }

    fn wants_segment_state(&self) -> bool {
        self.entry.table.wants_segment_state
    }

    fn send_buffer_windows(&self) -> u64 {
        match self.entry.table.send_buffer_windows {
            0 => 2,
            windows => windows.into(),
        }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        let threshold =
            ask!(self, ssthresh, Call::<NoPacket>::drawing(self.random.as_mut()), view, control);
        let threshold = threshold.expect(CHECKED);
        if threshold < MIN_CWND {
            fail(&self.entry, &format!("its ssthresh is {threshold}, below {MIN_CWND}"));
        }
        threshold
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        let undone =
            ask!(self, undo_cwnd, Call::<NoPacket>::drawing(self.random.as_mut()), view, control);
        undone.unwrap_or_else(|| control.cwnd.max(view.prior_cwnd))
    }

    // The interface of plugins knows a least burst and a limit of bursts; how large they are in between is the stack's.
    fn tso_segs(&self, _view: &View, _control: &Control) -> Option<u32> {
        None
    }

    fn min_tso_segs(&self, view: &View, control: &Control) -> u32 {
        ask!(self, min_tso_segs, Call::<NoPacket>::looking(), view, control).unwrap_or(2)
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        let mut values = vec![0.0; self.entry.info.gauges.len()];
        if values.is_empty() {
            return;
        }
        ask!(self, read_gauges, Call::<NoPacket>::looking(), view, control, values.as_mut_ptr());
        for ((name, _, _), value) in self.entry.info.gauges.iter().zip(values) {
            out(name, value);
        }
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        hook!(self, init, view, control);
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        hook!(self, cong_control, view, control, &mirror::control_sample(sample));
    }

    fn in_ack_event(&mut self, view: &View, control: &mut Control, event: AckEvent) {
        hook!(self, in_ack_event, view, control, &mirror::ack_event(event));
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        hook!(self, cong_avoid, view, control, acked);
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, sample: AckSample) {
        hook!(self, pkts_acked, view, control, &mirror::ack_sample(sample));
    }

    fn segment_lost(&mut self, view: &View, control: &mut Control, lost: &LostSegment) {
        hook!(self, segment_lost, view, control, &mirror::lost_segment(lost));
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        hook!(self, set_state, view, control, mirror::ca_state(state));
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        hook!(self, event, view, control, &mirror::event(event));
    }
}

impl Clone for PluginControl {
    fn clone(&self) -> Self {
        let mut call = Call::<NoPacket>::looking();
        let clone = self.entry.table.clone.expect(CHECKED);
        // SAFETY: as in `hook`.
        let raw = unsafe { clone(self.raw.as_ptr(), call.as_host()) };
        Self::made(raw, &self.entry, self.random.clone(), call)
    }
}

impl Drop for PluginControl {
    fn drop(&mut self) {
        // What it says of its end changes nothing any more.
        let mut call = Call::<NoPacket>::looking();
        let destroy = self.entry.table.destroy.expect(CHECKED);
        // SAFETY: as in `hook`.
        unsafe { destroy(self.raw.as_ptr(), call.as_host()) };
    }
}

impl fmt::Debug for PluginControl {
    /// Its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.info.name)
    }
}
