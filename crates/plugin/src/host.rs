//! What a discipline asks of its host.

use crate::abi;
use core::marker::PhantomData;
use std::ffi::CString;

/// A reason for a drop or a mark: its place in the discipline's table of reasons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason(pub u32);

/// The host, for the length of one call.
#[derive(Debug)]
pub struct Host<'a> {
    raw: *mut abi::Host,
    call: PhantomData<&'a mut abi::Host>,
}

macro_rules! ask {
    ($host:expr, $function:ident $(, $argument:expr)*) => {{
        // SAFETY: the host handed the pointer over for this call, and its functions are there as long as it is.
        #[allow(unsafe_code)]
        unsafe { ((*(*$host.raw).calls).$function)($host.raw $(, $argument)*) }
    }};
}

impl Host<'_> {
    /// For the call that was handed `raw`.
    pub(crate) const fn new(raw: *mut abi::Host) -> Self {
        Self { raw, call: PhantomData }
    }

    /// Drops a packet that is held.
    pub fn drop(&mut self, packet: abi::Packet, reason: Reason) {
        ask!(self, drop, packet.handle, reason.0);
    }

    /// Sets CE if the packet is ECN-capable, and says whether it is CE now.
    pub fn mark(&mut self, packet: &mut abi::Packet, reason: Reason) -> bool {
        let is_marked = ask!(self, mark, packet.handle, reason.0);
        if is_marked {
            packet.ecn = abi::SOJOURN_CE;
        }
        is_marked
    }

    /// Makes ECT(0) ECT(1), which says "some congestion" (SCE), and whether it did.
    pub fn mark_sce(&mut self, packet: &mut abi::Packet, reason: Reason) -> bool {
        let is_marked = ask!(self, mark_sce, packet.handle, reason.0);
        if is_marked {
            packet.ecn = abi::SOJOURN_ECT_1;
        }
        is_marked
    }

    /// Uniform over all 32-bit values, from the queue's own random stream.
    pub fn random_u32(&mut self) -> u32 {
        ask!(self, random_u32)
    }

    /// Uniform over all 64-bit values.
    pub fn random_u64(&mut self) -> u64 {
        ask!(self, random_u64)
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.random_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// The values do not go together, and why.
    pub(crate) fn refuse(&mut self, why: &str) {
        let why = text(why);
        ask!(self, refuse, why.as_ptr());
    }

    /// Ends the run, with what is wrong.
    pub(crate) fn fail(&mut self, what: &str) {
        let what = text(what);
        ask!(self, fail, what.as_ptr());
    }
}

/// A text as C has it.
fn text(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}
