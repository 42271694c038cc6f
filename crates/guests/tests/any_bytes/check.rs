//! What must hold of any bytes that a guest sends or has in its memory. The fuzz target uses this, too.

use sojourn_guests::clock::{Asks, Clock, MESSAGE, Message, State};
use sojourn_guests::nic::Nic;
use sojourn_guests::ring::Ring;
use sojourn_guests::vhost::{HEADER, Header, Request};

/// The first byte says what they are.
pub(crate) fn any_bytes(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 3 {
        0 => messages(rest),
        1 => requests(rest),
        _ => memory(rest),
    }
}

/// Messages of a clock: time does not run back.
fn messages(data: &[u8]) {
    let (mut clock, mut now) = (Clock::default(), 5_u64);
    for bytes in data.as_chunks::<MESSAGE>().0 {
        let Ok(message) = Message::read(bytes) else { continue };
        assert_eq!(message.bytes(), *bytes);
        if let Ok((_, Asks::Time(time))) = clock.take(&message, now, 0) {
            assert!(time >= now);
            now = time;
        }
        clock.begin(now, 1);
        if clock.state == State::Waiting && clock.request != sojourn_guests::NEVER {
            now = now.max(clock.request);
            clock.run(now, now.saturating_add(10));
        }
    }
}

/// Requests of a driver, which shares no memory.
fn requests(mut data: &[u8]) {
    let mut nic = Nic::new([2, 0, 0, 0, 0, 1]);
    while let Some((head, rest)) = data.split_first_chunk::<HEADER>() {
        data = rest;
        let Ok(header) = Header::read(head) else { continue };
        let Some((payload, rest)) = data.split_at_checked(header.size as usize) else { return };
        data = rest;
        if let Ok(request) = Request::read(&header, payload) {
            let _ = nic.take(&header, request, Vec::new());
        }
        let _ = nic.sent();
        let _ = nic.receive(payload);
    }
}

/// Rings anywhere in a memory of these bytes: an end, and nothing beyond.
fn memory(data: &[u8]) {
    let Some((places, content)) = data.split_first_chunk::<8>() else { return };
    let mut memory = content.to_vec();
    let place = |at: usize| u64::from(u16::from_le_bytes([places[at], places[at + 1]]));
    let mut ring = Ring::default();
    let _ = ring.set_size(1 << (places[6] % 17));
    ring.set_places(place(0), place(2), place(4));
    ring.set_next(places[7].into());
    for _ in 0..4 {
        if let Ok(Some(bytes)) = ring.take(&mut memory, 2000) {
            assert!(bytes.len() <= 2000);
        }
        let _ = ring.put(&mut memory, &[7; 60]);
        let _ = ring.wants_interrupt(&memory);
    }
    assert_eq!(memory.len(), content.len());
}
