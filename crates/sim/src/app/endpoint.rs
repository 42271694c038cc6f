//! A TCP sender and the receiver that faces it, as a flow's settings and its stack have them.

use super::setup::HostStack;
use crate::packet::mss;
use sojourn_model::{EcnMode, Ip, ReceiveWindow, RttScaling, SlowStart, Tcp};
use sojourn_transport::cc::{
    AnyCongestionControl, CarefulResume, CongestionControl, SavedPath, WithSlowStart, slow_start,
};
use sojourn_transport::segment::HEADERS;
use sojourn_transport::stack::{EcnRequest, Independence, Scaling, TcpQuirks};
use sojourn_transport::{Config, HostNic, Receiver, Sender, WindowPolicy};
use sojourn_units::{Random, Span};
use std::sync::Arc;

/// Prague's target RTT unless a flow says another (`prague_rtt_target` from 2021 on).
const RTT_TARGET: Span = Span::from_millis(25);

/// A sender and the receiver that faces it, with the readings of their hosts' timestamp clocks at the beginning.
/// The sender's packets wait for `device` on its own host; the congestion control draws from `random`.
pub(crate) fn endpoint(
    tcp: &Tcp,
    ip: Ip,
    host: HostStack<'_>,
    device: Option<HostNic>,
    random: Random,
    clocks: (u32, u32),
) -> (Sender, Receiver) {
    let quirks = match tcp.rtt_scaling {
        None => Arc::clone(host.quirks),
        Some(mode) => {
            let scaling = match mode {
                RttScaling::None => Scaling::None,
                RttScaling::Rate => Scaling::Rate,
                RttScaling::Scalable => Scaling::Scalable,
                RttScaling::Additive => Scaling::Additive,
            };
            let target = tcp.rtt_target.unwrap_or(RTT_TARGET);
            let target_us = (target.as_nanos() / 1_000) as u32;
            Arc::new(TcpQuirks {
                rtt_independence: Some(Independence { scaling, target_us }),
                ..TcpQuirks::clone(host.quirks)
            })
        }
    };
    let mut control = host.controls.build(&tcp.cc, &quirks).expect("the control was checked");
    control.seed(random);
    if let Some(kind) = tcp.slow_start {
        let kind = match kind {
            SlowStart::Standard => slow_start::Kind::Standard,
            SlowStart::HyStartPlusPlus => slow_start::Kind::HyStartPlusPlus,
            SlowStart::Search => slow_start::Kind::Search,
            SlowStart::Search4 => slow_start::Kind::Search4,
            SlowStart::RapidStart => slow_start::Kind::RapidStart,
        };
        let with = WithSlowStart::new(kind, control).expect("the scenario was refused otherwise");
        control = AnyCongestionControl::custom(with);
    }
    if let (Some(cwnd), Some(rtt)) = (tcp.saved_cwnd, tcp.saved_rtt) {
        let with = CarefulResume::new(SavedPath { cwnd, rtt }, control);
        control = AnyCongestionControl::custom(with.expect("the scenario was refused otherwise"));
    }
    let needs = control.ecn();
    let ecn = match tcp.ecn {
        // A control that needs more than the stack asks for gets it (`tcp_ca_needs_ecn`).
        EcnMode::Default => quirks.ecn.max(needs.request),
        EcnMode::Off => EcnRequest::Off,
        EcnMode::Rfc3168 | EcnMode::Sce => EcnRequest::Rfc3168,
        EcnMode::AccEcn => EcnRequest::AccEcn,
    };
    let config = Config {
        mss: mss(ip),
        headers: HEADERS + ip.more(),
        ecn,
        codepoint: tcp.codepoint,
        ignores_ce: tcp.ignore_ce,
        max_pacing_rate: tcp.max_pacing_rate,
        paced: tcp.host_qdisc.as_ref().is_some_and(|q| q.name() == "fq"),
        device,
        rate_limited_increase: tcp.rate_limited_increase,
        initial_window: tcp.initial_window,
        send_buffer: tcp.send_buffer.map(|bytes| bytes.try_into().unwrap_or(u32::MAX)),
        bytes: tcp.bytes,
        clock_offset_ms: clocks.0,
    };
    let window = match tcp.receive_window {
        ReceiveWindow::Autotune => WindowPolicy::Autotuned,
        ReceiveWindow::Fixed(bytes) => {
            WindowPolicy::Fixed(bytes.min(u64::from(u32::MAX / 2)) as u32)
        }
    };
    // A receiver of another stack agrees to what that stack knows.
    let is_other = !Arc::ptr_eq(host.quirks, host.receiver);
    let knows_accecn = host.receiver.ecn == EcnRequest::AccEcn || host.receiver.accecn_option;
    let known = if is_other && !knows_accecn { ecn.min(EcnRequest::Rfc3168) } else { ecn };
    let receiver = Receiver::new(config.mss, window, host.receiver, clocks.1);
    let receiver = receiver.facing(&needs, known, tcp.codepoint);
    let receiver = match tcp.ecn {
        EcnMode::Sce => receiver.echoing_sce(true),
        EcnMode::Rfc3168 => receiver.echoing_sce(false),
        EcnMode::Default | EcnMode::Off | EcnMode::AccEcn => receiver,
    };
    (Sender::new(&config, quirks, control), receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_stacks::Stack;
    use sojourn_transport::cc::Registry;
    use sojourn_transport::ecn::{Agreed, ask};
    use sojourn_transport::segment::Handshake;
    use sojourn_units::{Ecn, Time};

    /// What the ends agree on when a sender of the first stack asks one of the second for AccECN.
    fn agreed(sender: &str, receiver: &str) -> Agreed {
        let of = |name: &str| Arc::new(Stack::named(name).expect("a stack").tcp.clone());
        let (quirks, controls) = (of(sender), Registry::built_in());
        let receiver = if sender == receiver { Arc::clone(&quirks) } else { of(receiver) };
        let host = HostStack {
            stack: Stack::named(sender).expect("a stack"),
            quirks: &quirks,
            receiver: &receiver,
            controls: &controls,
        };
        let tcp = Tcp::plain("cubic", EcnMode::AccEcn);
        let random = Random::named(1, "endpoint");
        let (_, mut receiver) = endpoint(&tcp, Ip::V4, host, None, random, (0, 0));
        let flags = ask(EcnRequest::AccEcn, 0, true);
        let syn = Handshake { ecn: flags, ..Handshake::default() };
        let _ = receiver.on_syn(Time::ZERO, &syn, Ecn::NotEct);
        receiver.ecn_agreed()
    }

    #[test]
    fn a_receiver_agrees_to_what_its_own_stack_knows() {
        assert_eq!(agreed("linux-7.3", "linux-7.3"), Agreed::AccEcn);
        assert_eq!(agreed("linux-5.10", "linux-7.3"), Agreed::AccEcn);
        assert_eq!(agreed("linux-7.3", "linux-5.10"), Agreed::Rfc3168);
    }
}
