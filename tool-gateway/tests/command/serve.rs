//! `tool-gateway serve`, `tools` and `call`: what they say to those who use them wrongly, and their results.

use crate::program::run;

#[test]
fn what_cannot_start_says_what_to_do() {
    for (arguments, wanted) in [
        (
            &["serve", "--listen", "0.0.0.0:0"][..],
            "there are no client keys: anyone could use the upstream and run tools; set TOOL_GATEWAY_CLIENT_KEYS",
        ),
        (
            &["serve", "--upstream-kind", "script", "--internal", "Todo"],
            "--internal: there is no tool `Todo`; the tools are TodoWrite, TodoRead",
        ),
        (
            &[
                "serve",
                "--listen",
                "127.0.0.1:48123",
                "--upstream",
                "http://localhost:48123",
            ],
            "is this gateway itself",
        ),
        (
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                "ftp://example.com",
            ],
            "invalid base URL ftp://example.com: unknown scheme; expected for example https://api.anthropic.com",
        ),
        (
            &["serve", "--listen", "127.0.0.1:0", "--script", "/nowhere.json"],
            "the script /nowhere.json cannot be read",
        ),
        (
            &["serve", "--upstream-kind", "anthropic", "--script", "a.json"],
            "--script is for --upstream-kind script",
        ),
        (
            &[
                "serve",
                "--upstream-kind",
                "script",
                "--upstream",
                "http://example.com",
            ],
            "--upstream is for --upstream-kind anthropic",
        ),
        (
            &["call", "Todo"],
            "there is no tool `Todo`; the tools are TodoWrite, TodoRead",
        ),
    ] {
        let ran = run(arguments, "");
        assert_eq!((ran.status, ran.text()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn tools_are_listed_in_the_form_of_each_api() {
    for (format, wanted) in [
        ("anthropic", r#""input_schema""#),
        ("openai", r#""parameters""#),
        ("mcp", r#""inputSchema""#),
    ] {
        let ran = run(&["tools", "--format", format], "");
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(
            ran.text().contains(wanted) && ran.text().contains("TodoWrite"),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn a_call_prints_its_result_and_its_warnings_apart() {
    let ran = run(&["call", "TodoWrite", "{'todos': []}"], "");
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.text(),
        "{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_cli\",\"content\":\"{\\\"success\\\":true,\\\"count\\\":0}\"}\n"
    );
    assert!(
        ran.stderr.starts_with("json_repaired: ") && ran.stderr.ends_with('\n'),
        "{}",
        ran.stderr
    );
    let ran = run(&["call", "TodoWrite", "{}"], "");
    assert_eq!(ran.status, 1);
    assert!(ran.text().contains("'todos' array is required"), "{}", ran.text());
}
