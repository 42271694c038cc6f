//! Tests of the receiver.
