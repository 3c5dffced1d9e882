//! The tests of turns, once more with two gateways in processes over one Redis, to which the requests of a test go in turn. Tests that build
//! their own gateways have them in their own process here, too.

#[path = "crashes.rs"]
mod crashes;
#[path = "retries.rs"]
mod retries;
#[path = "session_state.rs"]
mod session_state;
#[path = "turns.rs"]
mod turns;

/// Serves the gateway of most tests if this process was started for it.
#[test]
fn serves() {
    crate::gateway_processes::serve_default();
}
