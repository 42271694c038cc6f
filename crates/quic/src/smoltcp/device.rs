//! The network card of a host: a place for one packet either way. Its driver takes a packet out before the next may come.

use smoltcp::phy::{self, Checksum, ChecksumCapabilities, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// The card.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// The packet that has come.
    pub(super) incoming: Option<Vec<u8>>,
    /// The packet that is to go; none if it is empty.
    pub(super) outgoing: Vec<u8>,
}

/// The longest IP packet, bytes.
const MTU: usize = 1500;

/// A packet that is read.
pub(super) struct Incoming(Vec<u8>);

/// The place of a packet that is written.
pub(super) struct Outgoing<'a>(&'a mut Vec<u8>);

impl phy::RxToken for Incoming {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl phy::TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        self.0.resize(len, 0);
        write(self.0)
    }
}

impl phy::Device for Device {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        // What is read may be answered at once.
        let packet = self.incoming.take_if(|_| self.outgoing.is_empty())?;
        Some((Incoming(packet), Outgoing(&mut self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        self.outgoing.is_empty().then_some(Outgoing(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        // Captures show the checksums. Nothing on the path damages a packet, so nobody checks them.
        let mut checksum = ChecksumCapabilities::default();
        (checksum.ipv4, checksum.tcp) = (Checksum::Tx, Checksum::Tx);
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities.checksum = checksum;
        capabilities
    }
}
