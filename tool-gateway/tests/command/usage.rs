//! Help and version, and the commands shared with `tool-cli`, whose own suite tests their results.

use crate::program::run;

#[test]
fn help_names_every_command() {
    let ran = run(&["--help"], "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for wanted in [
        "Serve tools to language models; repair and check what they send as tool calls\n",
        "\n  repair  ",
        "\n  check   ",
        "\n  serve   ",
        "\n  tools   ",
        "\n  call    ",
        "`auto`, `always` or `never`",
        "| tool-gateway repair\n",
    ] {
        assert!(
            ran.text().contains(wanted),
            "{wanted:?} is missing in {}",
            ran.text()
        );
    }
}

#[test]
fn version_is_that_of_the_crate() {
    let ran = run(&["--version"], "");
    assert_eq!(
        ran.text(),
        format!("tool-gateway {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn help_of_shared_commands_has_the_name_of_this_program() {
    for command in ["repair", "check"] {
        let ran = run(&[command, "--help"], "");
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert!(
            ran.text().contains(&format!("  tool-gateway {command} --")),
            "{}",
            ran.text()
        );
        assert!(
            !ran.text().contains("tool-cli") && !ran.text().contains("{program}"),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn repairs_and_checks() {
    let repaired = run(&["repair"], "{'done': True}");
    assert_eq!((repaired.status, repaired.text()), (0, r#"{"done": true}"#));
    let refused = run(&["repair"], r#"{"path": }"#);
    assert_eq!((refused.status, refused.text()), (1, r#"{"path": }"#));
    assert!(
        refused.stderr.starts_with("stdin:1:10: refused: "),
        "{}",
        refused.stderr
    );
    let record = r#"{"id": 1, "schema": {"type": "object"}, "raw": "{}"}"#;
    let checked = run(&["check", "--jsonl"], record);
    assert_eq!(
        (checked.status, checked.records()[0]["id"].as_u64()),
        (0, Some(1))
    );
    let missing = run(&["check", "no-such-file"], "");
    assert_eq!((missing.status, missing.text()), (2, ""));
}

#[test]
fn usage_errors_name_the_commands() {
    for (arguments, wanted) in [
        (&[][..], "Usage: tool-gateway [OPTIONS] <COMMAND>"),
        (&["repiar"], "similar subcommand exists: 'repair'"),
        (&["serv"], "similar subcommand exists: 'serve'"),
        (
            &["fix"],
            "the commands are `serve`, `mcp`, `tools`, `call`, `repair`, `check` and `calls`; to serve, write `tool-gateway serve`",
        ),
    ] {
        let ran = run(arguments, "");
        assert_eq!((ran.status, ran.text()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(wanted), "{arguments:?}: {}", ran.stderr);
    }
}
