//! One discipline that a plugin has made, and its functions.

#![allow(unsafe_code)]

use crate::call::Call;
use crate::tables::AqmEntry;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::NonNull;
use sojourn_plugin::abi;
use sojourn_qdisc::{Dequeued, Packet};
use sojourn_units::Time;
use std::sync::Arc;

/// Functions are there: the table was checked when it was read.
const CHECKED: &str = "the table was checked";

/// A discipline behind C's pointer.
pub(crate) struct Instance<P: Packet + 'static> {
    raw: NonNull<c_void>,
    pub(crate) entry: Arc<AqmEntry>,
    /// It holds packets of this kind by their handles.
    packets: PhantomData<fn(P)>,
}

// SAFETY: the ABI says that a discipline may be used by any thread, by one at a time, and `Instance` is not `Sync`.
unsafe impl<P: Packet + 'static> Send for Instance<P> {}

/// A call of a function that may be missing.
macro_rules! call {
    ($instance:expr, $function:ident, $call:expr $(, $argument:expr)*) => {{
        let function = $instance.entry.table.$function.expect(CHECKED);
        // SAFETY: the library is loaded as long as the entry is; its `create` or `clone` made `raw`, and nobody
        // else refers to it now; the other pointers are good for the call.
        unsafe { function($instance.raw.as_ptr(), $call.as_host() $(, $argument)*) }
    }};
}

impl<P: Packet + 'static> Instance<P> {
    fn new(raw: *mut c_void, entry: &Arc<AqmEntry>) -> Option<Self> {
        let raw = NonNull::new(raw)?;
        Some(Self { raw, entry: Arc::clone(entry), packets: PhantomData })
    }

    /// Makes one; none if the plugin gives none.
    pub(crate) fn create(
        entry: &Arc<AqmEntry>,
        values: &[abi::Value],
        call: &mut Call<'_, P>,
    ) -> Option<Self> {
        let create = entry.table.create.expect(CHECKED);
        // SAFETY: the library is loaded as long as the entry is; there is a value for each option.
        let raw = unsafe { create(call.as_host(), values.as_ptr()) };
        Self::new(raw, entry)
    }

    /// One more like it; none if the plugin gives none.
    pub(crate) fn duplicate(&self, call: &mut Call<'_, P>) -> Option<Self> {
        Self::new(call!(self, clone, call), &self.entry)
    }

    pub(crate) fn change(&mut self, now: Time, values: &[abi::Value], call: &mut Call<'_, P>) {
        call!(self, change, call, now.as_nanos(), values.as_ptr());
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, packet: &abi::Packet, call: &mut Call<'_, P>) {
        call!(self, enqueue, call, now.as_nanos(), packet);
    }

    /// Which packet leaves, by its handle.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        call: &mut Call<'_, P>,
    ) -> Result<Dequeued<u64>, u32> {
        let mut out = 0;
        match call!(self, dequeue, call, now.as_nanos(), &raw mut out) {
            abi::SOJOURN_PACKET => Ok(Dequeued::Packet(out)),
            abi::SOJOURN_WAIT => Ok(Dequeued::Wait(Time::from_nanos(out))),
            abi::SOJOURN_EMPTY => Ok(Dequeued::Empty),
            other => Err(other),
        }
    }

    #[inline]
    pub(crate) fn has_timer(&self) -> bool {
        self.entry.table.next_timer.is_some()
    }

    /// Only of one that has a timer.
    pub(crate) fn next_timer(&self, call: &mut Call<'_, P>) -> Option<Time> {
        let next = call!(self, next_timer, call);
        (next != abi::SOJOURN_NEVER).then(|| Time::from_nanos(next))
    }

    /// Only of one that has a timer.
    pub(crate) fn on_timer(&mut self, now: Time, call: &mut Call<'_, P>) {
        call!(self, on_timer, call, now.as_nanos());
    }

    pub(crate) fn start(&mut self, now: Time, call: &mut Call<'_, P>) {
        if self.entry.table.start.is_some() {
            call!(self, start, call, now.as_nanos());
        }
    }

    pub(crate) fn flush(&mut self, now: Time, call: &mut Call<'_, P>) {
        call!(self, flush, call, now.as_nanos());
    }

    pub(crate) fn read_counters(&self, call: &mut Call<'_, P>) -> Vec<f64> {
        let mut out = vec![0.0; self.entry.info.counters.len()];
        if !out.is_empty() {
            call!(self, read_counters, call, out.as_mut_ptr());
        }
        out
    }

    pub(crate) fn read_gauges(&self, now: Time, call: &mut Call<'_, P>) -> Vec<f64> {
        let mut out = vec![0.0; self.entry.info.gauges.len()];
        if !out.is_empty() {
            call!(self, read_gauges, call, now.as_nanos(), out.as_mut_ptr());
        }
        out
    }
}

impl<P: Packet + 'static> Drop for Instance<P> {
    fn drop(&mut self) {
        // What it says of its end changes nothing any more.
        let mut call = Call::<P>::looking();
        call!(self, destroy, call);
    }
}
