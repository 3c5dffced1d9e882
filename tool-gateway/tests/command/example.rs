//! The output of the example `gateway` shows the views of the client and of the model.

use std::path::Path;
use std::process::Command;

#[test]
fn client_and_model_see_their_own_conversation() {
    let program = Path::new(env!("CARGO_BIN_EXE_tool-gateway"))
        .with_file_name("examples")
        .join(format!("gateway{}", std::env::consts::EXE_SUFFIX));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/gateway.rs");
    let changed = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
    assert!(
        changed(&program) >= changed(&source),
        "the example was not built since it was changed; `cargo test -p tool-gateway` builds it",
    );
    let output = Command::new(program).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    let mut rest = printed.as_str();
    for expected in [
        // The client sees only its own call,
        r#"the client sees  [{"type":"text","text":"I look at both."},{"type":"tool_use","id":"toolu_"#,
        r#""name":"get_weather","input":{"city":"Oslo"}}]"#,
        r#"the client sees  [{"type":"text","text":"Noon, and 21 °C."}]"#,
        // and the model sees both results, in the order of its calls.
        r#""content":"It is noon in Oslo."},{"type":"tool_result","tool_use_id":"#,
        r#""content":"21 °C"}]"#,
    ] {
        let found = rest.split_once(expected);
        let (_, behind) = found.unwrap_or_else(|| panic!("`{expected}` is missing in:\n{printed}"));
        rest = behind;
    }
}
