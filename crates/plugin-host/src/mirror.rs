//! What the transport tells a control and takes from it, as C has it. Both sides are plain data; here is all that links them.

use sojourn_plugin::abi;
use sojourn_transport::cc::{
    AckEvent, AckSample, CaState, Control, ControlSample, Event, LostSegment, SegmentState, View,
};
use sojourn_transport::ecn::{Agreed, EcnRequirements, Request};
use sojourn_units::Ecn;

pub(crate) fn view(view: &View) -> abi::View {
    abi::View {
        now: view.now.as_nanos(),
        delivered_at: view.delivered_at.as_nanos(),
        max_pacing_rate: view.max_pacing_rate.unwrap_or(abi::SOJOURN_NO_CAP),
        rtt_samples: view.rtt.samples(),
        una: view.una,
        nxt: view.nxt,
        packets_out: view.packets_out,
        sacked_out: view.sacked_out,
        lost_out: view.lost_out,
        retrans_out: view.retrans_out,
        in_flight: view.in_flight(),
        delivered: view.delivered,
        delivered_ce: view.delivered_ce,
        lost: view.lost,
        mss: view.mss,
        headers: view.headers,
        prior_cwnd: view.prior_cwnd,
        max_packets_out: view.max_packets_out,
        app_limited: view.app_limited.unwrap_or(0),
        ca_state: ca_state(view.ca_state),
        ecn: match view.ecn {
            Agreed::Off => abi::SOJOURN_ECN_OFF,
            Agreed::Rfc3168 => abi::SOJOURN_ECN_RFC3168,
            Agreed::AccEcn => abi::SOJOURN_ECN_ACCECN,
        },
        rate_delivered: view.rate.delivered,
        rate_interval_us: view.rate.interval_us,
        srtt_us: view.rtt.srtt_us(),
        mdev_us: view.rtt.mdev_us(),
        latest_rtt_us: view.rtt.latest_us(),
        min_rtt_us: view.rtt.min_us(),
        pacing_shift: view.pacing_shift,
        hz: view.hz,
        is_app_limited: view.app_limited.is_some(),
        rate_app_limited: view.rate.app_limited,
        cwnd_limited: view.cwnd_limited,
    }
}

pub(crate) const fn control(control: &Control) -> abi::Control {
    abi::Control {
        pacing_rate: control.pacing_rate,
        cwnd: control.cwnd,
        cwnd_count: control.cwnd_count,
        ssthresh: control.ssthresh,
        cwnd_clamp: control.cwnd_clamp,
        mss: control.mss,
        burst_limit: match control.burst_limit {
            Some(limit) => limit,
            None => 0,
        },
        paced: control.paced,
        app_limited: control.app_limited,
    }
}

/// Takes over the values that the control has set.
pub(crate) fn take_over(set: &abi::Control, control: &mut Control) {
    control.pacing_rate = set.pacing_rate;
    control.cwnd = set.cwnd;
    control.cwnd_count = set.cwnd_count;
    control.ssthresh = set.ssthresh;
    control.cwnd_clamp = set.cwnd_clamp;
    control.mss = set.mss;
    control.burst_limit = (set.burst_limit > 0).then_some(set.burst_limit);
    control.paced = set.paced;
    control.app_limited = set.app_limited;
}

pub(crate) const fn ca_state(state: CaState) -> u32 {
    match state {
        CaState::Open => abi::SOJOURN_OPEN,
        CaState::Disorder => abi::SOJOURN_DISORDER,
        CaState::Cwr => abi::SOJOURN_CWR,
        CaState::Recovery => abi::SOJOURN_RECOVERY,
        CaState::Loss => abi::SOJOURN_LOSS,
    }
}

pub(crate) const fn ecn(ecn: &abi::EcnRequirements) -> Option<EcnRequirements> {
    Some(EcnRequirements {
        request: match ecn.request {
            abi::SOJOURN_ECN_OFF => Request::Off,
            abi::SOJOURN_ECN_RFC3168 => Request::Rfc3168,
            abi::SOJOURN_ECN_ACCECN => Request::AccEcn,
            _ => return None,
        },
        codepoint: if ecn.ect_1 { Ecn::Ect1 } else { Ecn::Ect0 },
        on_all: ecn.on_all,
        on_syn: ecn.on_syn,
        exact_echo: ecn.exact_echo,
        echo_sce: ecn.echo_sce,
    })
}

pub(crate) const fn segment_state(state: SegmentState) -> abi::SegmentState {
    let SegmentState { in_flight, lost, delivered_ce } = state;
    abi::SegmentState { in_flight, lost, delivered_ce }
}

pub(crate) const fn lost_segment(segment: &LostSegment) -> abi::LostSegment {
    let &LostSegment { seq, sent, app_limited, lost } = segment;
    abi::LostSegment { sent: segment_state(sent), seq, lost, app_limited }
}

pub(crate) const fn ack_event(event: AckEvent) -> abi::AckEvent {
    let AckEvent { acked, ece, esce, window_update } = event;
    abi::AckEvent { acked, ece, esce, window_update }
}

pub(crate) fn ack_sample(sample: AckSample) -> abi::AckSample {
    let AckSample { acked, rtt_us } = sample;
    abi::AckSample { acked, rtt_us: rtt_us.unwrap_or(0), has_rtt: rtt_us.is_some() }
}

pub(crate) fn control_sample(sample: &ControlSample) -> abi::ControlSample {
    let rate = sample.rate.unwrap_or_default();
    abi::ControlSample {
        next_departure: sample.next_departure.as_nanos(),
        sent: segment_state(sample.sent.unwrap_or_default()),
        delivered: sample.delivered,
        ce: sample.ce,
        lost: sample.lost,
        rtt_us: sample.rtt_us.unwrap_or(0),
        rate_delivered: rate.delivered,
        rate_interval_us: rate.interval_us,
        prior_delivered: sample.prior_delivered.unwrap_or(0),
        prior_in_flight: sample.prior_in_flight,
        ece: sample.ece,
        has_rtt: sample.rtt_us.is_some(),
        has_rate: sample.rate.is_some(),
        rate_app_limited: rate.app_limited,
        has_prior_delivered: sample.prior_delivered.is_some(),
        has_sent: sample.sent.is_some(),
        acks_probe: sample.acks_probe,
        ack_delayed: sample.ack_delayed,
        backlogged: sample.backlogged,
    }
}

pub(crate) const fn event(event: Event) -> abi::Event {
    let (kind, idle_jiffies, app_limited) = match event {
        Event::TxStart { idle_jiffies } => (abi::SOJOURN_EVENT_TX_START, idle_jiffies, false),
        Event::CompleteCwr => (abi::SOJOURN_EVENT_COMPLETE_CWR, 0, false),
        Event::Loss => (abi::SOJOURN_EVENT_LOSS, 0, false),
        Event::TlpRecovery { app_limited } => (abi::SOJOURN_EVENT_TLP_RECOVERY, 0, app_limited),
    };
    abi::Event { kind, idle_jiffies, app_limited }
}
