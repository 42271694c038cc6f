//! One call of a plugin, and the host functions that it may call meanwhile.
//!
//! The trick: a [`Call`] begins with C's view of a host, so that a pointer to the one is a pointer to the other.
//! No panic of ours crosses the plugin: it is caught here and goes on when the call has come back ([`Call::done`]).

#![allow(unsafe_code)]

use crate::slab::Slab;
use core::ffi::{CStr, c_char};
use sojourn_plugin::abi;
use sojourn_qdisc::{Context, Packet, QdiscCounters, Reason, Telemetry, mark};
use sojourn_units::{Ecn, Random, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The complaints of a call besides its result.
pub(crate) enum Said {
    /// The values do not go together, and why.
    Refused(String),
    /// Something is wrong with the plugin, and what.
    Failed(String),
    /// A panic of the host.
    Panicked(Box<dyn Any + Send>),
}

/// What a plugin may do to packets.
pub(crate) struct Packets<'a, P> {
    pub(crate) now: Time,
    pub(crate) slab: &'a mut Slab<P>,
    pub(crate) tally: &'a mut QdiscCounters,
    pub(crate) reasons: &'a [Reason],
    pub(crate) telemetry: &'a mut (dyn Telemetry<P> + 'a),
}

/// A host for one call.
#[repr(C)]
pub(crate) struct Call<'a, P> {
    host: abi::Host,
    said: Option<Said>,
    /// Only where it may draw.
    random: Option<&'a mut Random>,
    /// Only where it may touch packets.
    packets: Option<Packets<'a, P>>,
}

impl<P: Packet + 'static> Call<'_, P> {
    const CALLS: &'static abi::HostCalls = &abi::HostCalls {
        size: size_of::<abi::HostCalls>() as u32,
        drop: drop_packet::<P>,
        mark: mark_packet::<P>,
        mark_sce: mark_sce::<P>,
        random_u32: random_u32::<P>,
        random_u64: random_u64::<P>,
        refuse: refuse::<P>,
        fail: fail::<P>,
    };
}

impl<'a, P: Packet + 'static> Call<'a, P> {
    /// For a call that decides.
    #[inline]
    pub(crate) fn new(random: &'a mut Random, packets: Packets<'a, P>) -> Self {
        let host = abi::Host { calls: Call::<P>::CALLS };
        Self { host, said: None, random: Some(random), packets: Some(packets) }
    }

    /// For a call without packets, which may draw once there is a stream.
    #[inline]
    pub(crate) fn drawing(random: Option<&'a mut Random>) -> Self {
        let host = abi::Host { calls: Call::<P>::CALLS };
        Self { host, said: None, random, packets: None }
    }

    /// For a call that only looks.
    #[inline]
    pub(crate) fn looking() -> Self {
        let host = abi::Host { calls: Call::<P>::CALLS };
        Self { host, said: None, random: None, packets: None }
    }

    /// The host pointer for the plugin. Nobody else may refer to the call until it has come back.
    #[inline]
    pub(crate) fn as_host(&mut self) -> *mut abi::Host {
        (&raw mut *self).cast()
    }

    /// The call has come back: returns its complaints. A panic of the host goes on here.
    #[inline]
    pub(crate) fn done(self) -> Result<(), Said> {
        match self.said {
            None => Ok(()),
            Some(Said::Panicked(panic)) => resume_unwind(panic),
            Some(said) => Err(said),
        }
    }

    fn say(&mut self, said: Said) {
        // The first is the cause of the others.
        self.said.get_or_insert(said);
    }

    fn packets(&mut self, what: &str) -> Option<&mut Packets<'a, P>> {
        if self.packets.is_none() {
            self.say(Said::Failed(format!("it {what} in a call that may not touch packets")));
        }
        self.packets.as_mut()
    }
}

impl<P: Packet> Packets<'_, P> {
    /// The reason at this place of the plugin's table.
    fn reason(&self, place: u32) -> Result<Reason, String> {
        let reasons = self.reasons.len();
        let found = self.reasons.get(place as usize).copied();
        found.ok_or_else(|| format!("it gave reason {place} and has a table of {reasons}"))
    }

    fn drop_packet(&mut self, handle: u64, reason: u32, random: &mut Random) -> Result<(), String> {
        let why = self.reason(reason)?;
        let packet = self.slab.take(handle).ok_or_else(|| unknown("dropped", handle))?;
        let mut telemetry = &mut *self.telemetry;
        self.tally.drop(self.now, packet, why, &mut Context { random, telemetry: &mut telemetry });
        Ok(())
    }

    fn mark_packet(
        &mut self,
        handle: u64,
        reason: u32,
        random: &mut Random,
    ) -> Result<bool, String> {
        let why = self.reason(reason)?;
        let packet = self.slab.get_mut(handle).ok_or_else(|| unknown("marked", handle))?;
        let mut telemetry = &mut *self.telemetry;
        Ok(mark(self.now, packet, why, &mut Context { random, telemetry: &mut telemetry }))
    }

    fn mark_sce(&mut self, handle: u64, reason: u32) -> Result<bool, String> {
        let why = self.reason(reason)?;
        let packet = self.slab.get_mut(handle).ok_or_else(|| unknown("marked", handle))?;
        let is_capable = packet.ecn() == Ecn::Ect0;
        if is_capable {
            packet.set_ecn(Ecn::Ect1);
            self.telemetry.sce_marked(self.now, packet, why);
        }
        Ok(is_capable)
    }
}

/// The error for a handle that is nobody's.
pub(crate) fn unknown(what: &str, handle: u64) -> String {
    format!("it {what} the packet {handle:#x}, which its queue does not hold")
}

/// Does `work` with the call behind a host. A panic is kept for [`Call::done`].
fn within<P: Packet + 'static, R: Default>(
    host: *mut abi::Host,
    work: impl FnOnce(&mut Call<'_, P>) -> R,
) -> R {
    // SAFETY: the plugin hands back the pointer that it was given for this call, which `Call::as_host` made; nobody else
    // refers to the call meanwhile.
    let call = unsafe { &mut *host.cast::<Call<'_, P>>() };
    catch_unwind(AssertUnwindSafe(|| work(call))).unwrap_or_else(|panic| {
        call.say(Said::Panicked(panic));
        R::default()
    })
}

/// As [`within`], for what a plugin does to packets.
fn with_packets<P: Packet + 'static, R: Default>(
    host: *mut abi::Host,
    what: &str,
    work: impl FnOnce(&mut Packets<'_, P>, &mut Random) -> Result<R, String>,
) -> R {
    within(host, |call: &mut Call<'_, P>| {
        let Some(random) = call.random.take() else {
            // A call without a stream has no packets either.
            call.packets(what);
            return R::default();
        };
        let result = call.packets(what).map_or_else(|| Ok(R::default()), |p| work(p, random));
        call.random = Some(random);
        result.unwrap_or_else(|message| {
            call.say(Said::Failed(message));
            R::default()
        })
    })
}

unsafe extern "C" fn drop_packet<P: Packet + 'static>(
    host: *mut abi::Host,
    packet: u64,
    reason: u32,
) {
    with_packets(host, "dropped a packet", |packets: &mut Packets<'_, P>, random| {
        packets.drop_packet(packet, reason, random)
    });
}

unsafe extern "C" fn mark_packet<P: Packet + 'static>(
    host: *mut abi::Host,
    packet: u64,
    reason: u32,
) -> bool {
    with_packets(host, "marked a packet", |packets: &mut Packets<'_, P>, random| {
        packets.mark_packet(packet, reason, random)
    })
}

unsafe extern "C" fn mark_sce<P: Packet + 'static>(
    host: *mut abi::Host,
    packet: u64,
    reason: u32,
) -> bool {
    with_packets(host, "marked a packet", |packets: &mut Packets<'_, P>, _| {
        packets.mark_sce(packet, reason)
    })
}

/// A draw, where there is a stream to draw from.
fn draw<P: Packet + 'static, R: Default>(
    host: *mut abi::Host,
    draw: impl FnOnce(&mut Random) -> R,
) -> R {
    within(host, |call: &mut Call<'_, P>| {
        if let Some(random) = &mut call.random {
            return draw(random);
        }
        call.say(Said::Failed("it drew a random number in a call that only looks".to_owned()));
        R::default()
    })
}

unsafe extern "C" fn random_u32<P: Packet + 'static>(host: *mut abi::Host) -> u32 {
    draw::<P, _>(host, Random::next_u32)
}

unsafe extern "C" fn random_u64<P: Packet + 'static>(host: *mut abi::Host) -> u64 {
    draw::<P, _>(host, Random::next_u64)
}

/// What a plugin says in words.
fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "it does not say what".to_owned();
    }
    // SAFETY: the plugin hands over a text with a zero byte at its end.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn refuse<P: Packet + 'static>(host: *mut abi::Host, why: *const c_char) {
    within(host, |call: &mut Call<'_, P>| call.say(Said::Refused(text(why))));
}

unsafe extern "C" fn fail<P: Packet + 'static>(host: *mut abi::Host, what: *const c_char) {
    within(host, |call: &mut Call<'_, P>| call.say(Said::Failed(text(what))));
}
