//! Messages of vhost-user that a guest's virtio driver sends (QEMU, `docs/interop/vhost-user.rst`; Linux 7.3,
//! `arch/um/drivers/vhost_user.h`).
//!
//! Invariants: a message is a header of 12 bytes and as many of payload as that says, in the machine's byte order. Payload of
//! the wrong length is an error, never filled up. File descriptors come with the header.

/// Bytes of a header.
pub const HEADER: usize = 12;
/// More payload than any message of these has.
pub const MOST: u32 = 4096;
/// The protocol's version, in the flags of every message.
const VERSION: u32 = 1;
/// An answer.
const REPLY: u32 = 4;
/// The sender waits for an answer, which is a number: 0 for success.
const NEEDS_REPLY: u32 = 8;

/// Bit of the features that says that there are features of the protocol.
pub const PROTOCOL_FEATURES: u64 = 1 << 30;

/// The beginning of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Which message.
    pub request: u32,
    flags: u32,
    /// Bytes of payload.
    pub size: u32,
}

/// What is wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadMessage {
    /// The version in its flags.
    #[error("version {0} of vhost-user: 1 is right")]
    Version(u32),
    /// A payload that no message has.
    #[error("a payload of {0} bytes: {MOST} are the most")]
    Size(u32),
    /// A payload that this message does not have.
    #[error("a payload of {size} bytes in message {request}")]
    Payload {
        /// The message.
        request: u32,
        /// Its payload.
        size: usize,
    },
    /// A message that was not agreed upon.
    #[error("message {0}, which was not agreed upon")]
    Unknown(u32),
}

impl Header {
    /// From bytes.
    ///
    /// # Errors
    /// If it is of another version, or too large.
    pub fn read(bytes: &[u8; HEADER]) -> Result<Self, BadMessage> {
        let word =
            |i: usize| u32::from_ne_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        let header = Self { request: word(0), flags: word(4), size: word(8) };
        if header.flags & 3 != VERSION {
            return Err(BadMessage::Version(header.flags & 3));
        }
        if header.size > MOST {
            return Err(BadMessage::Size(header.size));
        }
        Ok(header)
    }

    /// Whether the sender waits for an answer.
    pub const fn needs_reply(&self) -> bool {
        self.flags & NEEDS_REPLY != 0
    }
}

/// Regions of memory that a message has room for (`VHOST_MEMORY_MAX_NREGIONS` of the protocol).
const PLACES: usize = 8;

/// A message with this payload.
fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    for word in [request, VERSION | flags, payload.len() as u32] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// The answer to a request.
pub fn answer(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, REPLY, payload)
}

/// The answer to a request that waits for a number.
pub fn answer_number(request: u32, number: u64) -> Vec<u8> {
    answer(request, &number.to_ne_bytes())
}

/// The back end's message that a ring has entries that come back (`VHOST_USER_SLAVE_VRING_CALL`); its answer is as long as
/// [`CALL_ANSWER`].
pub fn call(ring: u32) -> Vec<u8> {
    let mut payload = [0; 8];
    payload[..4].copy_from_slice(&ring.to_ne_bytes());
    message(4, NEEDS_REPLY, &payload)
}

/// Bytes of the answer to [`call`].
pub const CALL_ANSWER: usize = HEADER + 8;

/// A region of memory that the guest shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedRegion {
    /// Bytes.
    pub size: u64,
    /// Its address, as rings and descriptors name it.
    pub address: u64,
    /// Where it begins in the file that comes with the message.
    pub offset: u64,
}

/// What the guest asks. The names are the protocol's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the protocol's names, in its order")]
pub enum Request {
    GetFeatures,
    SetFeatures(u64),
    SetOwner,
    SetMemTable(Vec<SharedRegion>),
    SetVringNum {
        ring: u32,
        size: u32,
    },
    SetVringAddr {
        ring: u32,
        descriptors: u64,
        used: u64,
        available: u64,
    },
    SetVringBase {
        ring: u32,
        next: u32,
    },
    GetVringBase {
        ring: u32,
    },
    /// Descriptors for kicks, calls and errors, which in-band messages make superfluous.
    SetVringNotifier,
    GetProtocolFeatures,
    SetProtocolFeatures(u64),
    GetQueueNum,
    SetVringEnable {
        ring: u32,
        on: bool,
    },
    SetSlaveReqFd,
    GetConfig {
        offset: u32,
        size: u32,
    },
    VringKick {
        ring: u32,
    },
}

impl Request {
    /// From a header and its payload.
    ///
    /// # Errors
    /// A message that was not agreed upon, or a payload of another length.
    pub fn read(header: &Header, payload: &[u8]) -> Result<Self, BadMessage> {
        let bad = BadMessage::Payload { request: header.request, size: payload.len() };
        let u32_at = |at: usize| {
            let part: [u8; 4] = payload.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_ne_bytes(part))
        };
        let u64_at = |at: usize| {
            let part: [u8; 8] = payload.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_ne_bytes(part))
        };
        let number = || if payload.len() == 8 { u64_at(0).ok_or(bad) } else { Err(bad) };
        let pair = || {
            let both = u32_at(0).zip(u32_at(4)).filter(|_| payload.len() == 8);
            both.ok_or(bad)
        };
        let nothing = |request: Self| if payload.is_empty() { Ok(request) } else { Err(bad) };
        match header.request {
            1 => nothing(Self::GetFeatures),
            2 => Ok(Self::SetFeatures(number()?)),
            3 => nothing(Self::SetOwner),
            5 => {
                let count = u32_at(0).ok_or(bad)? as usize;
                // Older kernels (6.1, 5.10) send both of their places, and the first `count` are filled.
                let places = payload.len().saturating_sub(8) / 32;
                let is_whole = payload.len() == 8 + 32 * places && places <= PLACES;
                if !is_whole || count == 0 || count > places {
                    return Err(bad);
                }
                let region = |i: usize| {
                    // Guest address, size, user address, offset: rings use the second address.
                    let at = 8 + 32 * i;
                    let (size, address, offset) =
                        (u64_at(at + 8)?, u64_at(at + 16)?, u64_at(at + 24)?);
                    Some(SharedRegion { size, address, offset })
                };
                (0..count).map(region).collect::<Option<_>>().map(Self::SetMemTable).ok_or(bad)
            }
            8 => pair().map(|(ring, size)| Self::SetVringNum { ring, size }),
            9 => {
                let four =
                    u64_at(8).zip(u64_at(16)).zip(u64_at(24)).filter(|_| payload.len() == 40);
                let ring = u32_at(0).ok_or(bad)?;
                let ((descriptors, used), available) = four.ok_or(bad)?;
                Ok(Self::SetVringAddr { ring, descriptors, used, available })
            }
            10 => pair().map(|(ring, next)| Self::SetVringBase { ring, next }),
            11 => pair().map(|(ring, _)| Self::GetVringBase { ring }),
            12..=14 => number().map(|_| Self::SetVringNotifier),
            15 => nothing(Self::GetProtocolFeatures),
            16 => Ok(Self::SetProtocolFeatures(number()?)),
            17 => nothing(Self::GetQueueNum),
            18 => pair().map(|(ring, on)| Self::SetVringEnable { ring, on: on != 0 }),
            21 => nothing(Self::SetSlaveReqFd),
            24 => {
                let (offset, size) = u32_at(0).zip(u32_at(4)).ok_or(bad)?;
                let fits = payload.len().checked_sub(12) == Some(size as usize);
                if fits { Ok(Self::GetConfig { offset, size }) } else { Err(bad) }
            }
            35 => pair().map(|(ring, _)| Self::VringKick { ring }),
            other => Err(BadMessage::Unknown(other)),
        }
    }

    /// Its name in the protocol.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::GetFeatures => "GET_FEATURES",
            Self::SetFeatures(_) => "SET_FEATURES",
            Self::SetOwner => "SET_OWNER",
            Self::SetMemTable(_) => "SET_MEM_TABLE",
            Self::SetVringNum { .. } => "SET_VRING_NUM",
            Self::SetVringAddr { .. } => "SET_VRING_ADDR",
            Self::SetVringBase { .. } => "SET_VRING_BASE",
            Self::GetVringBase { .. } => "GET_VRING_BASE",
            Self::SetVringNotifier => "SET_VRING_CALL",
            Self::GetProtocolFeatures => "GET_PROTOCOL_FEATURES",
            Self::SetProtocolFeatures(_) => "SET_PROTOCOL_FEATURES",
            Self::GetQueueNum => "GET_QUEUE_NUM",
            Self::SetVringEnable { .. } => "SET_VRING_ENABLE",
            Self::SetSlaveReqFd => "SET_SLAVE_REQ_FD",
            Self::GetConfig { .. } => "GET_CONFIG",
            Self::VringKick { .. } => "VRING_KICK",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(request: u32, size: u32) -> Header {
        Header { request, flags: VERSION, size }
    }

    #[test]
    fn requests_are_read() {
        let kick = [1_u32.to_ne_bytes(), 0_u32.to_ne_bytes()].concat();
        assert_eq!(Request::read(&header(35, 8), &kick), Ok(Request::VringKick { ring: 1 }));
        let words = [1, 0x1000, 0x2000, 0x6000, 0x80_u64];
        let table: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let region = SharedRegion { size: 0x2000, address: 0x6000, offset: 0x80 };
        assert_eq!(Request::read(&header(5, 40), &table), Ok(Request::SetMemTable(vec![region])));
        // As 6.1 and 5.10 send it: a second place, which the count leaves out.
        let places = [table.clone(), vec![0; 32]].concat();
        let region = SharedRegion { size: 0x2000, address: 0x6000, offset: 0x80 };
        assert_eq!(Request::read(&header(5, 72), &places), Ok(Request::SetMemTable(vec![region])));
        assert!(Request::read(&header(5, 71), &places[..71]).is_err());
        let many = [table.clone(), vec![0; 32 * PLACES]].concat();
        assert!(Request::read(&header(5, many.len() as u32), &many).is_err());
        // A count that the payload does not have, up to the largest.
        for count in [0, 2, u32::MAX] {
            let mut wrong = table.clone();
            wrong[..4].copy_from_slice(&count.to_ne_bytes());
            assert!(Request::read(&header(5, 40), &wrong).is_err(), "{count}");
        }
        assert_eq!(Request::read(&header(99, 0), &[]), Err(BadMessage::Unknown(99)));
    }

    #[test]
    fn our_messages_have_the_protocols_form() {
        let call = call(1);
        assert_eq!(call.len(), CALL_ANSWER);
        let head: &[u8; HEADER] = call[..HEADER].try_into().unwrap();
        let header = Header::read(head).unwrap();
        assert!(header.needs_reply() && (header.request, header.size) == (4, 8));
        let reply = answer_number(35, 0);
        let head: &[u8; HEADER] = reply[..HEADER].try_into().unwrap();
        assert_eq!(Header::read(head).unwrap().size, 8);
        let [a, b, c] = [3_u32, 2, 8].map(u32::to_ne_bytes);
        let other: Vec<u8> = [a, b, c].concat();
        assert_eq!(Header::read(other[..].try_into().unwrap()), Err(BadMessage::Version(2)));
    }

    proptest! {
        #[test]
        fn any_bytes(head in any::<[u8; HEADER]>(), request in 0_u32..40, payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Header::read(&head);
            let _ = Request::read(&header(request, payload.len() as u32), &payload);
        }
    }
}
