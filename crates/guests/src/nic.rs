//! A network card (virtio 1.2 §5.1), as the guest's driver sets it up by vhost-user.
//!
//! Invariants: notifications go in band, so that each takes its place in the order of the guest's messages; a guest that
//! cannot do that is refused, since its packets would have no certain time. The card offers no checksum, segmentation or
//! merged buffers: a frame is as on the wire, behind a header of zeros.

use crate::memory::{Region, Regions};
use crate::ring::{BadRing, Ring};
use crate::vhost::{Header, PROTOCOL_FEATURES, Request, answer, answer_number};
use std::fs::File;
use std::os::fd::OwnedFd;

/// VIRTIO_NET_F_MAC: the address is the device's to say.
const MAC: u64 = 1 << 5;
/// VIRTIO_NET_F_MTU: the device says how large packets may be, and the driver has buffers for them.
const MTU: u64 = 1 << 3;
/// VIRTIO_F_VERSION_1.
const VERSION_1: u64 = 1 << 32;
const OFFERED: u64 = PROTOCOL_FEATURES | VERSION_1 | MAC;
/// REPLY_ACK, SLAVE_REQ, CONFIG, INBAND_NOTIFICATIONS.
const NEEDED: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// The ring of what the guest receives.
pub const RECEIVE: u32 = 0;
/// The ring of what it sends.
pub const SEND: u32 = 1;
/// Bytes of virtio's header in front of a frame, from version 1 on.
const FRONT: usize = 12;
/// More bytes than any frame has.
const LONGEST: usize = 1 << 16;

/// What is wrong with what a driver asks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadCard {
    /// Features that it does not take.
    #[error(
        "the kernel's virtio driver does not take features {0:#x}: its packets would have no certain time"
    )]
    Features(u64),
    /// A ring that a card does not have.
    #[error("ring {0}: a card has rings 0 and 1")]
    Ring(u32),
    /// Regions of memory and files that do not belong together.
    #[error("{regions} regions of memory with {files} files")]
    Files {
        /// Regions.
        regions: usize,
        /// Files.
        files: usize,
    },
    /// The channel for calls without a descriptor.
    #[error("no descriptor came with the channel for calls")]
    NoChannel,
    /// A ring.
    #[error(transparent)]
    Memory(#[from] BadRing),
    /// A frame that is shorter than virtio's header.
    #[error("a frame of {0} bytes with its header: 12 and more are right")]
    Short(usize),
}

/// What is to be done about a message.
#[derive(Debug)]
pub enum Done {
    /// These bytes are the answer; there may be none.
    Answer(Vec<u8>),
    /// A ring was kicked; when that has been seen to, this is the answer.
    Kicked(u32, Vec<u8>),
    /// The channel for calls, and the answer.
    Channel(OwnedFd, Vec<u8>),
}

/// A card.
#[derive(Debug)]
pub struct Nic {
    mac: [u8; 6],
    mtu: Option<u16>,
    memory: Regions,
    rings: [Ring; 2],
}

impl Nic {
    /// A card with this address, which no guest has set up yet.
    pub fn new(mac: [u8; 6]) -> Self {
        Self { mac, mtu: None, memory: Regions::default(), rings: [Ring::default(); 2] }
    }

    /// The same card for packets of up to this many bytes; without a number, of 1500.
    #[must_use]
    pub fn with_mtu(self, mtu: Option<u16>) -> Self {
        Self { mtu, ..self }
    }

    /// The features that it has.
    const fn offered(&self) -> u64 {
        OFFERED | if self.mtu.is_some() { MTU } else { 0 }
    }

    fn ring(&mut self, number: u32) -> Result<&mut Ring, BadCard> {
        self.rings.get_mut(number as usize).ok_or(BadCard::Ring(number))
    }

    /// What the driver reads of the device (virtio 1.2 §5.1.4): address, status, pairs of rings, the largest packet, and zeros.
    fn config(&self, offset: u32, size: u32) -> Vec<u8> {
        let mut all = self.mac.to_vec();
        all.extend([1, 0, 1, 0]);
        all.extend(self.mtu.unwrap_or(0).to_le_bytes());
        let from = all.iter().copied().chain(std::iter::repeat(0));
        let mut part: Vec<u8> = [offset, size, 0].iter().flat_map(|w| w.to_ne_bytes()).collect();
        part.extend(from.skip(offset as usize).take(size as usize));
        part
    }

    /// Takes a message with the descriptors that came with it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(
        &mut self,
        header: &Header,
        request: Request,
        files: Vec<OwnedFd>,
    ) -> Result<Done, BadCard> {
        let of = header.request;
        let number = |n| answer_number(of, n);
        let done = if header.needs_reply() { number(0) } else { Vec::new() };
        match request {
            Request::GetFeatures => return Ok(Done::Answer(number(self.offered()))),
            Request::GetProtocolFeatures => return Ok(Done::Answer(number(NEEDED))),
            Request::GetQueueNum => return Ok(Done::Answer(number(1))),
            Request::GetConfig { offset, size } => {
                return Ok(Done::Answer(answer(of, &self.config(offset, size))));
            }
            Request::GetVringBase { ring } => {
                let next = self.ring(ring)?.next();
                let state: Vec<u8> =
                    [ring, u32::from(next)].iter().flat_map(|w| w.to_ne_bytes()).collect();
                return Ok(Done::Answer(answer(of, &state)));
            }
            Request::SetFeatures(taken) => {
                if taken & VERSION_1 == 0 {
                    return Err(BadCard::Features(VERSION_1));
                }
            }
            Request::SetProtocolFeatures(taken) => {
                let lacking = NEEDED & !taken;
                if lacking != 0 {
                    return Err(BadCard::Features(lacking));
                }
            }
            Request::SetMemTable(regions) => {
                let (regions, count) = (regions.iter(), (regions.len(), files.len()));
                if count.0 != count.1 {
                    return Err(BadCard::Files { regions: count.0, files: count.1 });
                }
                let shared = regions.zip(files).map(|(of, file)| Region {
                    address: of.address,
                    size: of.size,
                    offset: of.offset,
                    file: File::from(file),
                });
                self.memory = Regions(shared.collect());
            }
            Request::SetVringNum { ring, size } => self.ring(ring)?.set_size(size)?,
            Request::SetVringBase { ring, next } => {
                self.ring(ring)?.set_next(next as u16);
            }
            Request::SetVringAddr { ring, descriptors, used, available } => {
                self.ring(ring)?.set_places(descriptors, available, used);
            }
            Request::SetSlaveReqFd => {
                let channel = files.into_iter().next().ok_or(BadCard::NoChannel)?;
                return Ok(Done::Channel(channel, done));
            }
            Request::VringKick { ring } => {
                self.ring(ring)?;
                return Ok(Done::Kicked(ring, done));
            }
            Request::SetOwner | Request::SetVringNotifier | Request::SetVringEnable { .. } => {}
        }
        Ok(Done::Answer(done))
    }

    /// The next frame that the guest sends.
    ///
    /// # Errors
    /// What is wrong with its ring.
    pub fn sent(&mut self) -> Result<Option<Vec<u8>>, BadCard> {
        let Some(mut bytes) = self.rings[SEND as usize].take(&mut self.memory, LONGEST)? else {
            return Ok(None);
        };
        if bytes.len() < FRONT {
            return Err(BadCard::Short(bytes.len()));
        }
        bytes.drain(..FRONT);
        Ok(Some(bytes))
    }

    /// Gives the guest a frame; false if it has no buffer for it, or has not set up the card.
    ///
    /// # Errors
    /// What is wrong with its ring.
    pub fn receive(&mut self, frame: &[u8]) -> Result<bool, BadCard> {
        let ring = &mut self.rings[RECEIVE as usize];
        if !ring.is_ready() {
            return Ok(false);
        }
        let mut bytes = vec![0; FRONT];
        // One buffer holds it.
        bytes[FRONT - 2] = 1;
        bytes.extend_from_slice(frame);
        Ok(ring.put(&mut self.memory, &bytes)?)
    }

    /// Whether the guest wants an interrupt for a change in a ring.
    ///
    /// # Errors
    /// What is wrong with the ring.
    pub fn wants_interrupt(&self, ring: u32) -> Result<bool, BadCard> {
        Ok(self.rings[ring as usize].wants_interrupt(&self.memory)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory as _;
    use crate::vhost::{HEADER, SharedRegion};
    use proptest::prelude::*;

    fn ask(nic: &mut Nic, request: Request, files: Vec<OwnedFd>) -> Result<Done, BadCard> {
        let bytes: Vec<u8> = [0_u32, 1 | 8, 0].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let header = Header::read(bytes[..HEADER].try_into().unwrap()).unwrap();
        nic.take(&header, request, files)
    }

    /// A card that a driver has set up, with memory from address 0x1000 on.
    fn ready() -> Nic {
        let mut nic = Nic::new([2, 0, 0, 0, 0, 1]);
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x4000).unwrap();
        let region = SharedRegion { size: 0x4000, address: 0x1000, offset: 0 };
        ask(&mut nic, Request::SetMemTable(vec![region]), vec![file.into()]).unwrap();
        for ring in [RECEIVE, SEND] {
            let base = 0x1000 + 0x1000 * u64::from(ring);
            ask(&mut nic, Request::SetVringNum { ring, size: 4 }, vec![]).unwrap();
            let (descriptors, available, used) = (base, base + 0x100, base + 0x200);
            let places = Request::SetVringAddr { ring, descriptors, used, available };
            ask(&mut nic, places, vec![]).unwrap();
        }
        nic
    }

    #[test]
    fn a_driver_without_in_band_notifications_is_refused() {
        let mut nic = Nic::new([0; 6]);
        let without = NEEDED & !(1 << 14);
        let refused = ask(&mut nic, Request::SetProtocolFeatures(without), vec![]).unwrap_err();
        assert_eq!(refused, BadCard::Features(1 << 14));
        assert!(refused.to_string().contains("no certain time"));
        assert_eq!(ask(&mut nic, Request::SetSlaveReqFd, vec![]).unwrap_err(), BadCard::NoChannel);
    }

    #[test]
    fn the_driver_reads_the_cards_address() {
        let nic = Nic::new([2, 0, 0, 0, 0, 9]);
        let part = nic.config(4, 6);
        assert_eq!(part[12..], [0, 9, 1, 0, 1, 0]);
        assert_eq!(nic.config(u32::MAX, 3)[12..], [0, 0, 0]);
    }

    /// The driver is asked to have buffers for long packets only where there are such: 1600 is 0x0640.
    #[test]
    fn a_card_for_long_packets_says_so() {
        let offered = |mtu| {
            let mut nic = Nic::new([0; 6]).with_mtu(mtu);
            let Ok(Done::Answer(answer)) = ask(&mut nic, Request::GetFeatures, vec![]) else {
                panic!("no answer");
            };
            (answer[HEADER] & 0x28, nic.config(10, 2)[12..].to_vec())
        };
        assert_eq!(offered(None), (0x20, vec![0, 0]));
        assert_eq!(offered(Some(1600)), (0x28, vec![0x40, 0x06]));
    }

    /// A frame comes without virtio's header and goes with one; without a buffer it stays.
    #[test]
    fn frames_pass_without_virtios_header() {
        let mut nic = ready();
        assert_eq!(nic.sent(), Ok(None));
        let frame: Vec<u8> = [vec![0; FRONT], b"frame".to_vec()].concat();
        nic.memory.write(0x4000, &frame).unwrap();
        for (base, flags, length) in [(0x2000_u64, 0_u16, 17_u32), (0x1000, 2, 100)] {
            nic.memory.write(base, &0x4000_u64.to_le_bytes()).unwrap();
            nic.memory.write(base + 8, &length.to_le_bytes()).unwrap();
            nic.memory.write(base + 12, &flags.to_le_bytes()).unwrap();
            nic.memory.write(base + 0x102, &1_u16.to_le_bytes()).unwrap();
        }
        assert_eq!(nic.sent().unwrap().unwrap(), b"frame");
        assert_eq!(nic.wants_interrupt(SEND), Ok(true));
        assert_eq!(nic.receive(b"other"), Ok(true));
        let mut there = [0; 17];
        nic.memory.read(0x4000, &mut there).unwrap();
        assert_eq!((there[10], &there[12..]), (1, &b"other"[..]));
        assert_eq!(nic.receive(b"more"), Ok(false));
        assert_eq!(Nic::new([0; 6]).receive(b"early"), Ok(false));
    }

    proptest! {
        /// Any requests in any order, on memory of any content.
        #[test]
        fn any_requests(
            memory in prop::collection::vec(any::<u8>(), 0x400),
            requests in prop::collection::vec((0_u32..4, any::<u32>(), any::<[u16; 3]>()), 0..20),
        ) {
            let mut nic = ready();
            nic.memory.write(0x1000, &memory).unwrap();
            for (what, number, places) in requests {
                let ring = number % 3;
                let [descriptors, used, available] = places.map(u64::from);
                let request = match what {
                    0 => Request::SetVringNum { ring, size: number },
                    1 => Request::SetVringBase { ring, next: number },
                    2 => Request::SetVringAddr { ring, descriptors, used, available },
                    _ => Request::VringKick { ring },
                };
                let _ = ask(&mut nic, request, vec![]);
                let _ = nic.sent();
                let _ = nic.receive(&[1; 60]);
            }
        }
    }
}
