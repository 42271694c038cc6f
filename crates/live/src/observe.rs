//! What is seen of every packet: delays for the tables, the last second of each queue for the status, captures.

use crate::packet::Packet;
use sojourn_capture::{Capture, CaptureError, PcapFile, Point, stamp};
use sojourn_model::{Scenario, Side};
use sojourn_net::Observer;
use sojourn_path::{PathPacket as _, Sojourn, Topology};
use sojourn_record::{Delays, Distribution};
use sojourn_units::{Span, Time};
use std::time::Duration;

use crate::protocol::Host;

/// Everything that looks on.
pub(crate) struct Observers {
    pub(crate) delays: Delays,
    pub(crate) captures: Option<Captures>,
    /// Sojourn times of each port since they were last asked for.
    pub(crate) recent: Vec<Distribution>,
}

impl Observer<Packet> for Observers {
    fn entered(&mut self, now: Time, port: usize, packet: &Packet) {
        if let Some(captures) = &mut self.captures {
            captures.at_port(now, captures.entering[port], packet);
        }
    }

    fn left(&mut self, now: Time, port: usize, packet: &Packet, sojourn: Sojourn) {
        let class = || sojourn.class.map(|class| class.name);
        self.delays.left(now, port, packet.flow(), sojourn.waited, class);
        self.recent[port].add(sojourn.waited);
        if let Some(captures) = &mut self.captures {
            captures.at_port(now, captures.leaving[port], packet);
        }
    }
}

/// The files of a run's packets.
pub(crate) struct Captures {
    files: Vec<PcapFile>,
    /// For each port, the file of what enters it, and of what leaves it.
    entering: Vec<Option<usize>>,
    leaving: Vec<Option<usize>>,
    zero: Duration,
    failure: Option<CaptureError>,
}

impl Captures {
    /// Opens the files.
    pub(crate) fn new(
        wish: &Capture,
        scenario: &Scenario,
        topology: &Topology<Packet>,
    ) -> Result<Self, CaptureError> {
        let points = Point::all(scenario);
        let files = points.iter().map(|p| PcapFile::create(wish, p)).collect::<Result<_, _>>()?;
        let place = |point: Point| points.iter().position(|p| *p == point);
        let count = topology.nodes.len();
        let (mut entering, mut leaving) = (vec![None; count], vec![None; count]);
        for hop in &scenario.hops {
            let (left, right) =
                (place(Point::Left(hop.name.clone())), place(Point::Right(hop.name.clone())));
            for (side, near, far) in [(Side::Down, left, right), (Side::Up, right, left)] {
                let path = |name: &str| format!("{}.{side}.{name}", hop.name);
                let elements = hop.side(side).iter().filter(|e| e.kind.holds_a_queue());
                let queues: Vec<usize> =
                    elements.filter_map(|e| topology.queue(&path(&e.name))).collect();
                if let (Some(&first), Some(&last)) = (queues.first(), queues.last()) {
                    (entering[first], leaving[last]) = (near, far);
                }
            }
        }
        Ok(Self { files, entering, leaving, zero: stamp(scenario, Time::ZERO), failure: None })
    }

    /// A host sends or receives a packet.
    pub(crate) fn at_host(&mut self, now: Time, host: Host, packet: &Packet) {
        let file = match host {
            Host::Server => 0,
            Host::Client => self.files.len() - 1,
        };
        self.write(now, file, packet);
    }

    fn at_port(&mut self, now: Time, file: Option<usize>, packet: &Packet) {
        if let Some(file) = file {
            self.write(now, file, packet);
        }
    }

    fn write(&mut self, now: Time, file: usize, packet: &Packet) {
        if self.failure.is_none() {
            let bytes = packet.frame().bytes();
            let at = self.zero + Duration::from_nanos(now.as_nanos());
            self.failure = self.files[file].write(at, bytes.len() as u32, bytes).err();
        }
    }

    /// The first thing that went wrong.
    pub(crate) fn check(&mut self) -> Result<(), CaptureError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The run is over: the files get their names.
    pub(crate) fn finish(mut self) -> Result<(), CaptureError> {
        self.check()?;
        self.files.into_iter().try_for_each(PcapFile::finish)
    }
}

/// The least time that this share of a distribution's times does not exceed, to the distribution's precision; none of an
/// empty one.
pub(crate) fn quantile(distribution: &Distribution, share: f64) -> Option<Span> {
    let count: u64 = distribution.buckets().map(|(_, _, count)| count).sum();
    let wanted = (share * count as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    let bucket = distribution.buckets().find(|(_, _, count)| {
        seen += count;
        seen >= wanted
    });
    bucket.map(|(low, high, _)| Span::from_nanos(u64::midpoint(low, high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_times_that_were_added() {
        let mut distribution = Distribution::new();
        assert_eq!(quantile(&distribution, 0.5), None);
        for nanos in 1..=100 {
            distribution.add(Span::from_nanos(nanos));
        }
        let of = |share| quantile(&distribution, share).unwrap().as_nanos();
        assert_eq!((of(0.0), of(0.5), of(0.99), of(1.0)), (1, 50, 99, 100));
    }
}
