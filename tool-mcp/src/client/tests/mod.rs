//! Tests of times and queues, with a server in this process and a paused clock.

mod fake_server;
mod revisions;
mod calls;
mod restarts;
mod threads;
