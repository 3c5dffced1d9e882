//! Help, version, and messages about wrong usage.

use crate::program::run;

#[test]
fn help_has_examples_and_exit_statuses() {
    for (arguments, wanted) in [
        (
            &["--help"][..],
            &[
                "Repair and check tool calls of language models\n",
                "Examples:",
                "tool-cli repair",
                "tool-cli check",
            ][..],
        ),
        (
            &["repair", "--help"],
            &[
                "Exit status:",
                "--explain",
                "--jsonl",
                "--color",
                "Examples:",
                "fix_counts",
                "| tool-cli repair\n",
                "- responses: OpenAI's Responses",
            ],
        ),
        (
            &["check", "--help"],
            &[
                "Exit status:",
                "--policy",
                "lossless",
                "--deny",
                "Examples:",
                "`raw`",
            ],
        ),
        (
            &["repair", "-h"],
            &["--explain", "--jsonl", "--sse", "--target-tools"],
        ),
    ] {
        let ran = run(arguments, "");
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        for wanted in wanted {
            assert!(ran.text().contains(wanted), "{arguments:?} has no {wanted:?}");
        }
        assert!(
            ran.text().contains("`auto`, `always` or `never`"),
            "{arguments:?} has no values of --color"
        );
        let widest = ran.text().lines().map(|line| line.chars().count()).max();
        assert!(
            widest <= Some(140),
            "{arguments:?} has a line of {widest:?} characters"
        );
    }
}

#[test]
fn version_is_that_of_the_crate() {
    let ran = run(&["--version"], "");
    assert_eq!(ran.text(), format!("tool-cli {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn usage_errors_state_the_correct_usage() {
    for (arguments, wanted) in [
        (&[][..], "Usage: tool-cli [OPTIONS] <COMMAND>"),
        (&["repiar"], "similar subcommand exists: 'repair'"),
        (
            &["fix"],
            "the commands are `repair`, `check` and `calls`; to repair a file, write `tool-cli repair FILE`",
        ),
        (&["repair", "--jsom"], "similar argument exists: '--jsonl'"),
        (&["repair", "a", "b"], "unexpected argument 'b' found"),
        (&["repair", "--jsonl", "--explain"], "cannot be used with"),
        (
            &["repair", "--color", "blue"],
            "[possible values: auto, always, never]",
        ),
        (
            &["repair", "--sse", "chatt"],
            "[possible values: chat, responses, anthropic]",
        ),
        (&["repair", "--sse", "chatt"], "similar value exists: 'chat'"),
        (
            &["check", "--policy", "lossy"],
            "similar value exists: 'lossless'",
        ),
        (
            &["repair", "--sse", "chat", "--target-tools", ""],
            "empty name; expected names separated by commas, such as TodoWrite,Edit, or '*'",
        ),
        (
            &["repair", "--sse", "chat", "--target-tools", "TodoWrite,,Edit"],
            "empty name; ",
        ),
        (&["repair", "--sse", "chat", "--target-tools= "], "empty name; "),
        (
            &["repair", "--sse", "chat", "--target-tools", "Edit,Todo*"],
            "invalid name `Todo*`; expected full names, or only '*'",
        ),
        (
            &["repair", "--sse", "chat", "--target-tools="],
            "'--target-tools <NAMES>'",
        ),
        (&["check", "--deny"], "[possible values: errors, warnings]"),
    ] {
        let ran = run(arguments, "");
        assert_eq!((ran.status, ran.text()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(wanted), "{arguments:?}: {}", ran.stderr);
    }
}
