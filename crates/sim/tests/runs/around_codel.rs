//! Disciplines for tests: CoDel under another name, but for what leaves it.

/// Declares the discipline `$name<P>` around a CoDel, and its family. `$dequeue` is given that CoDel, the time, and the
/// context.
macro_rules! around_codel {
    ($(#[$doc:meta])* $name:ident, $family:ident, $words:literal, $dequeue:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        struct $name<P>(sojourn_qdisc::codel::Codel<P>);

        struct $family;

        impl sojourn_qdisc::Family for $family {
            type Of<P: sojourn_qdisc::OwnedPacket> = $name<P>;
        }

        impl<P: sojourn_qdisc::Packet> sojourn_qdisc::Qdisc<P> for $name<P> {
            fn enqueue<T: sojourn_qdisc::Telemetry<P>>(
                &mut self,
                now: sojourn_units::Time,
                packet: P,
                cx: &mut sojourn_qdisc::Context<'_, T>,
            ) {
                self.0.enqueue(now, packet, cx);
            }
            fn dequeue<T: sojourn_qdisc::Telemetry<P>>(
                &mut self,
                now: sojourn_units::Time,
                cx: &mut sojourn_qdisc::Context<'_, T>,
            ) -> sojourn_qdisc::Dequeued<P> {
                $dequeue(&mut self.0, now, cx)
            }
            fn backlog(&self) -> sojourn_qdisc::Backlog {
                self.0.backlog()
            }
            fn stats(&self) -> sojourn_qdisc::Stats {
                self.0.stats()
            }
            fn gauges(&self, now: sojourn_units::Time, out: &mut dyn FnMut(&'static str, f64)) {
                self.0.gauges(now, out);
            }
        }

        impl<P: sojourn_qdisc::Packet> sojourn_qdisc::TcConfigurable<P> for $name<P> {
            const INFO: &'static sojourn_qdisc::Discipline =
                &sojourn_qdisc::Discipline { name: $words, ..sojourn_qdisc::codel::INFO };

            fn build(
                words: &mut sojourn_qdisc::TcTokens<'_>,
                cx: &mut sojourn_qdisc::BuildContext<'_, P>,
            ) -> Result<Self, sojourn_qdisc::TcError> {
                sojourn_qdisc::codel::Codel::build(words, cx).map(Self)
            }
            fn change<T: sojourn_qdisc::Telemetry<P>>(
                &mut self,
                now: sojourn_units::Time,
                words: &mut sojourn_qdisc::TcTokens<'_>,
                cx: &mut sojourn_qdisc::Context<'_, T>,
            ) -> Result<(), sojourn_qdisc::TcError> {
                self.0.change(now, words, cx)
            }
            fn flush<T: sojourn_qdisc::Telemetry<P>>(
                &mut self,
                now: sojourn_units::Time,
                cx: &mut sojourn_qdisc::Context<'_, T>,
            ) {
                self.0.flush(now, cx);
            }
            fn quirks(&self) -> &sojourn_qdisc::QdiscQuirks {
                self.0.quirks()
            }
            fn describe(&self) -> String {
                self.0.describe()
            }
        }
    };
}

pub(crate) use around_codel;
