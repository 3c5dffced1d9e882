//! Responses of a scripted server, as bytes: each case of `cases.json` in one write, in a write for each byte, and as a whole answer.

mod played;
mod cases;
mod random_streams;
