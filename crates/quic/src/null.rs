//! A handshake without cryptography: messages of the lengths that TLS's have, so that the same datagrams go at the same
//! times, and keys that leave packets as they are. Nothing here protects anything.
//!
//! Which message each side sends when is TLS 1.3's (RFC 8446 §2, RFC 9001 §4.1): the client's hello, the server's hello,
//! the server's further flight, the client's finish.

/// Bytes of TLS's messages besides the transport parameters, with the cipher suites of ring, an Ed25519 certificate of
/// [`crate::tls`] and no ticket. A test holds TLS to it.
pub(crate) mod len {
    pub(crate) const CLIENT_HELLO: usize = 185;
    pub(crate) const SERVER_HELLO: usize = 90;
    pub(crate) const SERVER_FLIGHT: usize = 499;
    pub(crate) const FINISHED: usize = 52;
}

/// The tag that AES-GCM and ChaCha20-Poly1305 add to a packet.
pub(crate) const TAG: usize = 16;
/// What is sampled for the protection of headers.
pub(crate) const SAMPLE: usize = 16;
/// Packets that one key may protect: AES-GCM's limit (RFC 9001 §6.6).
pub(crate) const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
/// Packets that may fail: AES-GCM's limit.
pub(crate) const INTEGRITY_LIMIT: u64 = 1 << 52;
/// Length field in front of a message, and of the parameters in it.
const HEAD: usize = 4;

/// Which keys a write has made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// None.
    Nothing,
    /// The next packet space's.
    Keys,
}

/// How far a side is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Client: its hello is to be written.
    Hello,
    /// Waits for the peer's next message.
    Waits,
    /// Both: hellos have been exchanged, keys of the handshake are to be made.
    Hellos,
    /// Server: its flight is to be written.
    Flight,
    /// Client: its finish is to be written.
    Finish,
}

/// One side's handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    is_client: bool,
    state: State,
    parameters: Vec<u8>,
    /// The bytes of the peer's messages that are not yet a whole one.
    buffer: Vec<u8>,
    /// Messages that have come.
    read: usize,
    /// The peer's transport parameters.
    pub(crate) peer: Option<Vec<u8>>,
    is_done: bool,
}

impl Handshake {
    pub(crate) fn new(is_client: bool, parameters: Vec<u8>) -> Self {
        let state = if is_client { State::Hello } else { State::Waits };
        let (buffer, peer) = (Vec::new(), None);
        Self { is_client, state, parameters, buffer, read: 0, peer, is_done: false }
    }

    pub(crate) const fn is_handshaking(&self) -> bool {
        !self.is_done
    }

    /// Bytes of the peer's.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        while let Some(head) = self.buffer.first_chunk::<HEAD>() {
            let [high, low, parameters_high, parameters_low] = *head;
            let length = usize::from(u16::from_be_bytes([high, low]));
            if self.buffer.len() < length || length < HEAD {
                return;
            }
            let message: Vec<u8> = self.buffer.drain(..length).collect();
            let parameters = usize::from(u16::from_be_bytes([parameters_high, parameters_low]));
            self.take(&message[HEAD..], parameters);
        }
    }

    fn take(&mut self, body: &[u8], parameters: usize) {
        if parameters > 0 {
            self.peer = body.get(..parameters).map(<[u8]>::to_vec);
        }
        self.read += 1;
        match (self.is_client, self.read) {
            (_, 1) => self.state = State::Hellos,
            (true, _) => (self.state, self.is_done) = (State::Finish, true),
            (false, _) => self.is_done = true,
        }
    }

    /// What is to be sent next, and whether keys go with it.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> Step {
        match self.state {
            State::Waits => Step::Nothing,
            State::Hello => {
                self.state = State::Waits;
                self.message(len::CLIENT_HELLO, true, out);
                Step::Nothing
            }
            State::Hellos if self.is_client => {
                self.state = State::Waits;
                Step::Keys
            }
            State::Hellos => {
                self.state = State::Flight;
                self.message(len::SERVER_HELLO, false, out);
                Step::Keys
            }
            State::Flight => {
                self.state = State::Waits;
                self.message(len::SERVER_FLIGHT, true, out);
                Step::Keys
            }
            State::Finish => {
                self.state = State::Waits;
                self.message(len::FINISHED, false, out);
                Step::Keys
            }
        }
    }

    fn message(&self, rest: usize, with_parameters: bool, out: &mut Vec<u8>) {
        let parameters: &[u8] = if with_parameters { &self.parameters } else { &[] };
        let length = parameters.len() + rest;
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        out.extend_from_slice(parameters);
        out.resize(out.len() + rest - HEAD, 0);
    }
}
