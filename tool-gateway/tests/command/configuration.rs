//! What `tool-gateway serve --check-config` says of a configuration that cannot be meant.

use crate::program::{Directory, command};

/// Checks a file with that in it, with variables of the environment; the exit status and standard error.
fn check(text: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let directory = Directory::new();
    let file = directory.file("gateway.toml", text);
    let mut checked = command(&["serve", "--config", &file, "--check-config"]);
    for variable in [
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        "TOOL_GATEWAY_CLIENT_KEYS",
    ] {
        checked.env_remove(variable);
    }
    let ran = checked.envs(environment.iter().copied()).output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[track_caller]
fn is_refused(text: &str, environment: &[(&str, &str)], wanted: &str) {
    let (status, stderr) = check(text, environment);
    assert_eq!(status, Some(2), "{text} {environment:?}: {stderr}");
    assert!(stderr.contains(wanted), "{stderr}\n{wanted}");
}

#[track_caller]
fn is_accepted(text: &str, environment: &[(&str, &str)]) {
    let (status, stderr) = check(text, environment);
    assert_eq!(status, Some(0), "{text} {environment:?}: {stderr}");
}

#[test]
fn an_upstream_that_cannot_be_asked_is_refused_where_it_is_named() {
    is_refused(
        "\n[upstream]\nurl = \"api.anthropic.com\"",
        &[],
        "gateway.toml:3: upstream.url: invalid base URL api.anthropic.com: missing scheme; expected for example https://",
    );
    is_refused(
        "listen = \"127.0.0.1:8484\"\n[upstream]\nurl = \"http://localhost:8484\"",
        &[],
        "the upstream http://localhost:8484 is this gateway itself",
    );
    is_refused(
        "",
        &[("ANTHROPIC_BASE_URL", "example.com")],
        "ANTHROPIC_BASE_URL: invalid base URL example.com: missing scheme",
    );
    is_refused(
        "",
        &[("ANTHROPIC_API_KEY", "key\n")],
        "ANTHROPIC_API_KEY: invalid API key: it contains a character that a header cannot have",
    );
    is_accepted("upstream.url = \"http://localhost:8000/prefix\"", &[]);
    // It is not asked.
    is_accepted(
        "upstream.kind = \"script\"",
        &[("ANTHROPIC_BASE_URL", "example.com")],
    );
}
