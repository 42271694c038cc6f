//! A packet between two ports: middleboxes, and ports that are switched off.

use super::{Step, Topology};
use crate::PathPacket;
use sojourn_units::Time;

/// Where a packet has come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passed<P> {
    /// The packet.
    pub packet: P,
    /// The entry of its route that led it there.
    pub position: u8,
    /// The port that it enters now, or [`HOST`](super::HOST).
    pub port: u16,
}

impl<P: PathPacket> Topology<P> {
    /// Lets a packet pass the middleboxes before the port of its route's entry at `position`, and before those behind
    /// it while there is a bypass. `None` if a middlebox dropped it, which that one's statistics then show. Where
    /// nothing happens ([`RouteEntry::steps`](super::RouteEntry::steps) is 0), the entry's port is the answer, and
    /// nobody need ask.
    pub fn pass(
        &mut self,
        now: Time,
        mut packet: P,
        route: u16,
        mut position: u8,
    ) -> Option<Passed<P>> {
        let Self { routes, steps: known, middleboxes, switches, .. } = self;
        let route = &routes[usize::from(route)];
        loop {
            let entry = route[usize::from(position)];
            let steps = match entry.steps {
                0 => &[][..],
                number => &known[usize::from(number) - 1],
            };
            let mut bypassed = 0;
            for step in steps {
                match *step {
                    Step::Pass(number) => {
                        packet = middleboxes[usize::from(number)].1.pass(now, packet)?;
                    }
                    Step::Bypass(switch, _) if switches[usize::from(switch)].on => {}
                    Step::Bypass(_, entries) => bypassed = entries,
                }
            }
            if bypassed == 0 {
                return Some(Passed { packet, position, port: entry.port });
            }
            position += bypassed;
        }
    }
}
