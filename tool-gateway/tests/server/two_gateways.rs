//! The tests of turns, once more with two gateways over one store, to which the requests of a test go in turn.

#[path = "retries.rs"]
mod retries;
#[path = "session_state.rs"]
mod session_state;
#[path = "turns.rs"]
mod turns;

#[test]
fn requests_of_these_tests_go_to_two_gateways() {
    // Without threads, the harness names none after a test.
    let is_named = std::thread::current()
        .name()
        .is_some_and(|name| name.contains("::"));
    assert_eq!(crate::lab::has_two_gateways(), is_named);
}
