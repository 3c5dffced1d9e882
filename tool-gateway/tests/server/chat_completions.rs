//! The tests of turns, once more before a server of Chat Completions.

#[path = "crashes.rs"]
mod crashes;
#[path = "retries.rs"]
mod retries;
#[path = "session_state.rs"]
mod session_state;
#[path = "turns.rs"]
mod turns;

#[test]
fn scripts_of_these_tests_play_a_server_of_chat_completions() {
    // Without threads, the harness names none after a test.
    let is_named = std::thread::current()
        .name()
        .is_some_and(|name| name.contains("::"));
    assert_eq!(crate::protocol::is_chat(), is_named);
}
