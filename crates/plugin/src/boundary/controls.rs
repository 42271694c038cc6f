//! The functions behind a congestion control's table.

use super::{guarded, slice_mut};
use crate::abi;
use crate::control::CongestionControl;
use core::ffi::c_void;

/// The table of a control.
pub const fn control<C: CongestionControl>() -> abi::CongestionControl {
    let info = const { &C::INFO };
    abi::CongestionControl {
        size: size_of::<abi::CongestionControl>() as u32,
        name: info.name.as_ptr(),
        summary: info.summary.as_ptr(),
        source: info.source.as_ptr(),
        gauges: info.gauges.as_ptr(),
        gauge_count: info.gauges.len() as u32,
        ecn: info.ecn,
        send_buffer_windows: info.send_buffer_windows,
        has_cong_control: info.has_cong_control,
        wants_segment_state: info.wants_segment_state,
        create: Some(create::<C>),
        destroy: Some(destroy::<C>),
        clone: Some(clone::<C>),
        ssthresh: Some(ssthresh::<C>),
        cong_avoid: Some(cong_avoid::<C>),
        init: Some(init::<C>),
        cong_control: if info.has_cong_control { Some(cong_control::<C>) } else { None },
        in_ack_event: Some(in_ack_event::<C>),
        pkts_acked: Some(pkts_acked::<C>),
        segment_lost: if info.wants_segment_state { Some(segment_lost::<C>) } else { None },
        set_state: Some(set_state::<C>),
        event: Some(event::<C>),
        undo_cwnd: Some(undo_cwnd::<C>),
        min_tso_segs: Some(min_tso_segs::<C>),
        read_gauges: Some(gauges::<C>),
    }
}

// SAFETY, of all below: the host calls them as `abi::CongestionControl` states it. `create` or `clone` returned `cc`,
// of this type, and nobody else refers to it during the call; the pointers are good for it.

unsafe extern "C" fn create<C: CongestionControl>(host: *mut abi::Host) -> *mut c_void {
    guarded(host, core::ptr::null_mut(), |host| Box::into_raw(Box::new(C::create(host))).cast())
}

unsafe extern "C" fn destroy<C: CongestionControl>(cc: *mut c_void, host: *mut abi::Host) {
    guarded(host, (), |_| drop(unsafe { Box::from_raw(cc.cast::<C>()) }));
}

unsafe extern "C" fn clone<C: CongestionControl>(
    cc: *const c_void,
    host: *mut abi::Host,
) -> *mut c_void {
    guarded(host, core::ptr::null_mut(), |_| {
        Box::into_raw(Box::new(unsafe { &*cc.cast::<C>() }.clone())).cast()
    })
}

unsafe extern "C" fn init<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).init(&*view, &mut *control, host);
    });
}

unsafe extern "C" fn cong_control<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    sample: *const abi::ControlSample,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).cong_control(&*view, &mut *control, &*sample, host);
    });
}

unsafe extern "C" fn in_ack_event<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    event: *const abi::AckEvent,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).in_ack_event(&*view, &mut *control, &*event, host);
    });
}

unsafe extern "C" fn pkts_acked<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    sample: *const abi::AckSample,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).pkts_acked(&*view, &mut *control, &*sample, host);
    });
}

unsafe extern "C" fn segment_lost<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    lost: *const abi::LostSegment,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).segment_lost(&*view, &mut *control, &*lost, host);
    });
}

unsafe extern "C" fn set_state<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    state: u32,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).set_state(&*view, &mut *control, state, host);
    });
}

unsafe extern "C" fn event<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    event: *const abi::Event,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).event(&*view, &mut *control, &*event, host);
    });
}

unsafe extern "C" fn cong_avoid<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *mut abi::Control,
    acked: u32,
) {
    guarded(host, (), |host| unsafe {
        (*cc.cast::<C>()).cong_avoid(&*view, &mut *control, acked, host);
    });
}

unsafe extern "C" fn ssthresh<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *const abi::Control,
) -> u32 {
    guarded(host, 2, |host| unsafe { (*cc.cast::<C>()).ssthresh(&*view, &*control, host) })
}

unsafe extern "C" fn undo_cwnd<C: CongestionControl>(
    cc: *mut c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *const abi::Control,
) -> u32 {
    guarded(host, 2, |host| unsafe { (*cc.cast::<C>()).undo_cwnd(&*view, &*control, host) })
}

unsafe extern "C" fn min_tso_segs<C: CongestionControl>(
    cc: *const c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *const abi::Control,
) -> u32 {
    guarded(host, 2, |_| unsafe { (*cc.cast::<C>()).min_tso_segs(&*view, &*control) })
}

unsafe extern "C" fn gauges<C: CongestionControl>(
    cc: *const c_void,
    host: *mut abi::Host,
    view: *const abi::View,
    control: *const abi::Control,
    out: *mut f64,
) {
    guarded(host, (), |_| unsafe {
        let out = slice_mut(out, C::INFO.gauges.len());
        (*cc.cast::<C>()).gauges(&*view, &*control, out);
    });
}
