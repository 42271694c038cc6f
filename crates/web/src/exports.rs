//! The functions that a page calls. They take and give bytes in the module's own memory.
//!
//! - `room(n)`: where the page writes a request of `n` bytes of UTF-8.
//! - `ask()`: answers it; returns how long the reply is.
//! - `reply()`: where it is, until the next call ([`Reply::bytes`](crate::Reply::bytes)).
//! - `last_words(…)`: the message of a panic. A panic is a mistake of ours; it traps, and nothing but this may be called
//!   after it.
//!
//! A module has one page and one thread, and these functions keep its state in a thread-local. Vectors own all memory;
//! the page receives the beginning of one, and reads and writes only within it.

#![allow(
    unsafe_code,
    reason = "a function's name for the outside; nothing here is an unsafe operation"
)]

use crate::session::Session;
use std::cell::RefCell;

#[derive(Default)]
struct Page {
    session: Session,
    request: Vec<u8>,
    reply: Vec<u8>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    static LAST_WORDS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a request of `bytes` bytes, and returns where.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn room(bytes: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.request.clear();
        page.request.resize(bytes, 0);
        page.request.as_mut_ptr()
    })
}

/// Answers the request; returns the reply's length in bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ask() -> usize {
    std::panic::set_hook(Box::new(|panic| {
        LAST_WORDS.with_borrow_mut(|words| *words = panic.to_string().into_bytes());
    }));
    PAGE.with_borrow_mut(|page| {
        let request = String::from_utf8_lossy(&page.request).into_owned();
        page.reply = page.session.ask(&request).bytes();
        page.reply.len()
    })
}

/// Where the reply is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn reply() -> *const u8 {
    PAGE.with_borrow(|page| page.reply.as_ptr())
}

/// Where the words of a panic are.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn last_words() -> *const u8 {
    LAST_WORDS.with_borrow(Vec::as_ptr)
}

/// How many bytes they are.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn last_words_length() -> usize {
    LAST_WORDS.with_borrow(Vec::len)
}
