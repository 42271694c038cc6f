//! The functions behind the tables: from C's calls to those of [`Aqm`] and
//! [`CongestionControl`](crate::CongestionControl). The macro names what is public here;
//! nobody else needs to.
//!
//! The trick: each function is generic over the discipline, so that the macro only writes down a table of them, and all
//! `unsafe` of a plugin in Rust is in this file.

#![allow(unsafe_code)]

mod controls;

use crate::abi;
use crate::aqm::{Aqm, Dequeued};
use crate::host::Host;
use core::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The table of a library.
pub const fn plugin(
    aqms: &'static [&'static abi::Aqm],
    controls: &'static [&'static abi::CongestionControl],
) -> abi::Plugin {
    abi::Plugin {
        abi_version: abi::SOJOURN_ABI_VERSION,
        size: size_of::<abi::Plugin>() as u32,
        aqms: aqms.as_ptr().cast(),
        aqm_count: aqms.len() as u32,
        controls: controls.as_ptr().cast(),
        control_count: controls.len() as u32,
    }
}

/// The table of a discipline.
pub const fn aqm<A: Aqm>() -> abi::Aqm {
    let info = const { &A::INFO };
    abi::Aqm {
        size: size_of::<abi::Aqm>() as u32,
        name: info.name.as_ptr(),
        summary: info.summary.as_ptr(),
        source: info.source.as_ptr(),
        options: info.options.as_ptr(),
        option_count: info.options.len() as u32,
        counters: info.counters.as_ptr(),
        counter_count: info.counters.len() as u32,
        gauges: info.gauges.as_ptr(),
        gauge_count: info.gauges.len() as u32,
        reasons: info.reasons.as_ptr().cast::<*const c_char>(),
        reason_count: info.reasons.len() as u32,
        create: Some(create::<A>),
        destroy: Some(destroy::<A>),
        clone: Some(clone::<A>),
        change: Some(change::<A>),
        enqueue: Some(enqueue::<A>),
        dequeue: Some(dequeue::<A>),
        next_timer: Some(next_timer::<A>),
        on_timer: Some(on_timer::<A>),
        start: Some(start::<A>),
        flush: Some(flush::<A>),
        read_counters: Some(counters::<A>),
        read_gauges: Some(gauges::<A>),
    }
}

pub use controls::control;

/// Does `work`; reports a panic in it to the host, and returns `otherwise` to C then.
fn guarded<R>(host: *mut abi::Host, otherwise: R, work: impl FnOnce(&mut Host<'_>) -> R) -> R {
    let mut host = Host::new(host);
    match catch_unwind(AssertUnwindSafe(|| work(&mut host))) {
        Ok(result) => result,
        Err(panic) => {
            let message = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned());
            let said = message.map_or_else(String::new, |message| format!(": {message}"));
            host.fail(&format!("it panicked{said}"));
            otherwise
        }
    }
}

/// `count` values from `values` on; C may have a null pointer to none.
///
/// # Safety
/// Unless `count` is 0 there are as many, and they are not written while the slice is in use.
unsafe fn slice<'a, T>(values: *const T, count: usize) -> &'a [T] {
    // SAFETY: as above.
    if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(values, count) } }
}

/// As [`slice`], to be written.
///
/// # Safety
/// As [`slice`]; nobody else refers to the values.
unsafe fn slice_mut<'a, T>(values: *mut T, count: usize) -> &'a mut [T] {
    // SAFETY: as above.
    if count == 0 { &mut [] } else { unsafe { core::slice::from_raw_parts_mut(values, count) } }
}

// SAFETY, of all below: the host calls them as `abi::Aqm` states it. `create` or `clone` returned `aqm`, of this
// type, and nobody else refers to it during the call; the pointers are good for it; there are as many values as options, and
// as much room as counters or gauges.

unsafe extern "C" fn create<A: Aqm>(
    host: *mut abi::Host,
    values: *const abi::Value,
) -> *mut c_void {
    guarded(host, core::ptr::null_mut(), |host| {
        let values = unsafe { slice(values, A::INFO.options.len()) };
        match A::create(values, host) {
            Ok(aqm) => Box::into_raw(Box::new(aqm)).cast(),
            Err(why) => {
                host.refuse(&why);
                core::ptr::null_mut()
            }
        }
    })
}

unsafe extern "C" fn destroy<A: Aqm>(aqm: *mut c_void, host: *mut abi::Host) {
    guarded(host, (), |_| drop(unsafe { Box::from_raw(aqm.cast::<A>()) }));
}

unsafe extern "C" fn clone<A: Aqm>(aqm: *const c_void, host: *mut abi::Host) -> *mut c_void {
    guarded(host, core::ptr::null_mut(), |_| {
        Box::into_raw(Box::new(unsafe { &*aqm.cast::<A>() }.clone())).cast()
    })
}

unsafe extern "C" fn change<A: Aqm>(
    aqm: *mut c_void,
    host: *mut abi::Host,
    now: u64,
    values: *const abi::Value,
) {
    guarded(host, (), |host| {
        let values = unsafe { slice(values, A::INFO.options.len()) };
        let changed = unsafe { &mut *aqm.cast::<A>() }.change(now, values, host);
        if let Err(why) = changed {
            host.refuse(&why);
        }
    });
}

unsafe extern "C" fn enqueue<A: Aqm>(
    aqm: *mut c_void,
    host: *mut abi::Host,
    now: u64,
    packet: *const abi::Packet,
) {
    guarded(host, (), |host| unsafe { (*aqm.cast::<A>()).enqueue(now, *packet, host) });
}

unsafe extern "C" fn dequeue<A: Aqm>(
    aqm: *mut c_void,
    host: *mut abi::Host,
    now: u64,
    out: *mut u64,
) -> u32 {
    let (answer, value) = guarded(host, (abi::SOJOURN_EMPTY, 0), |host| {
        match unsafe { &mut *aqm.cast::<A>() }.dequeue(now, host) {
            Dequeued::Packet(packet) => (abi::SOJOURN_PACKET, packet.handle),
            Dequeued::Wait(until) => (abi::SOJOURN_WAIT, until),
            Dequeued::Empty => (abi::SOJOURN_EMPTY, 0),
        }
    });
    unsafe { *out = value };
    answer
}

unsafe extern "C" fn next_timer<A: Aqm>(aqm: *const c_void, host: *mut abi::Host) -> u64 {
    guarded(host, abi::SOJOURN_NEVER, |_| {
        unsafe { &*aqm.cast::<A>() }.next_timer().unwrap_or(abi::SOJOURN_NEVER)
    })
}

unsafe extern "C" fn on_timer<A: Aqm>(aqm: *mut c_void, host: *mut abi::Host, now: u64) {
    guarded(host, (), |host| unsafe { &mut *aqm.cast::<A>() }.on_timer(now, host));
}

unsafe extern "C" fn start<A: Aqm>(aqm: *mut c_void, host: *mut abi::Host, now: u64) {
    guarded(host, (), |_| unsafe { &mut *aqm.cast::<A>() }.start(now));
}

unsafe extern "C" fn flush<A: Aqm>(aqm: *mut c_void, host: *mut abi::Host, now: u64) {
    guarded(host, (), |_| unsafe { &mut *aqm.cast::<A>() }.flush(now));
}

unsafe extern "C" fn counters<A: Aqm>(aqm: *const c_void, host: *mut abi::Host, out: *mut f64) {
    guarded(host, (), |_| {
        let out = unsafe { slice_mut(out, A::INFO.counters.len()) };
        unsafe { &*aqm.cast::<A>() }.counters(out);
    });
}

unsafe extern "C" fn gauges<A: Aqm>(
    aqm: *const c_void,
    host: *mut abi::Host,
    now: u64,
    out: *mut f64,
) {
    guarded(host, (), |_| {
        let out = unsafe { slice_mut(out, A::INFO.gauges.len()) };
        unsafe { &*aqm.cast::<A>() }.gauges(now, out);
    });
}
