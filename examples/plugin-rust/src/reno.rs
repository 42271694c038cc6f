//! The control: half on a reduction, one segment for each window acknowledged (RFC 5681, as Linux has it).

use sojourn_plugin::{CongestionControl, Control, ControlInfo, Host, View};

/// Reno, which keeps nothing of its own.
#[derive(Clone)]
pub struct MyReno;

impl CongestionControl for MyReno {
    const INFO: ControlInfo = ControlInfo {
        name: c"my_reno",
        summary: c"additive increase, half on congestion, from a plugin",
        source: c"RFC 5681; examples/plugin-rust",
        ..ControlInfo::BASE
    };

    fn create(_host: &mut Host<'_>) -> Self {
        Self
    }

    fn ssthresh(&mut self, _view: &View, control: &Control, _host: &mut Host<'_>) -> u32 {
        (control.cwnd / 2).max(2)
    }

    fn cong_avoid(
        &mut self,
        view: &View,
        control: &mut Control,
        mut acked: u32,
        _host: &mut Host<'_>,
    ) {
        let in_slow_start = control.cwnd < control.ssthresh;
        // Growth without use is not earned.
        let is_used = in_slow_start && control.cwnd < 2 * view.max_packets_out;
        if !view.cwnd_limited && !is_used {
            return;
        }
        if in_slow_start {
            let cwnd = (control.cwnd + acked).min(control.ssthresh);
            acked -= cwnd - control.cwnd;
            control.cwnd = cwnd.min(control.cwnd_clamp);
            if acked == 0 {
                return;
            }
        }
        let window = control.cwnd;
        if control.cwnd_count >= window {
            control.cwnd_count = 0;
            control.cwnd += 1;
        }
        control.cwnd_count += acked;
        control.cwnd += control.cwnd_count / window;
        control.cwnd_count %= window;
        control.cwnd = control.cwnd.min(control.cwnd_clamp);
    }
}
