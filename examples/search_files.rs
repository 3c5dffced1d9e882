//! A function with defaults becomes a tool, which accepts the arguments that models send.
//!
//! The files are real: the story creates a small workspace in the temporary directory, and removes it at the end.

use std::fs;
use std::path::{Path, PathBuf};

use examples::voice::{chapter, say, show, show_all};
use tool_runtime::{CancellationToken, State, ToolCall, ToolError, ToolRegistry, tool};

/// Search the workspace for files.
#[tool(rename_all = "camelCase", read_only)]
async fn search_files(
    /// The glob pattern, for example `**/*.rs`: `*` is any part of a name, `**` any number of directories.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100)]
    max_results: u32,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<Vec<String>, ToolError> {
    // The function checks conditions that a schema cannot express.
    if pattern.starts_with('/') || pattern.contains("..") {
        return Err(ToolError::new(
            "outside_workspace",
            "send a pattern below the workspace, for example `src/*.rs`",
        ));
    }
    let fold = |text: &str| {
        if case_sensitive {
            text.to_owned()
        } else {
            text.to_lowercase()
        }
    };
    let pattern = fold(&pattern);
    let wanted: Vec<&str> = pattern.split('/').collect();

    let mut found = Vec::new();
    let mut directories = vec![workspace.0.clone()];
    while let Some(directory) = directories.pop() {
        if cancel.is_cancelled() {
            break; // no caller waits for the rest
        }
        for path in entries(&directory).map_err(|error| ToolError::new("unreadable", error))? {
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let place = below(&workspace.0, &path);
            let folded = fold(&place);
            if matches(&wanted, &folded.split('/').collect::<Vec<_>>()) {
                found.push(place);
            }
        }
    }
    found.sort();
    found.truncate(max_results as usize);
    Ok(found)
}

/// The searched directory. The host chooses it, so it is not in the definition, and no model can change it.
struct Workspace(PathBuf);

fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

fn below(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// Returns whether the parts of a path match the parts of a pattern.
fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            matches(rest, path)
                || path
                    .split_first()
                    .is_some_and(|(_, below)| matches(pattern, below))
        }
        ([first, rest @ ..], [name, below @ ..]) => fits(first, name) && matches(rest, below),
        _ => false,
    }
}

/// Returns whether a name matches a pattern with `*`: the parts between the stars occur in order.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, mut rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    while let Some((part, after)) = rest.split_once('*') {
        match name.split_once(part) {
            Some((_, behind)) => (name, rest) = (behind, after),
            None => return false,
        }
    }
    name.ends_with(rest)
}

#[tokio::main]
async fn main() {
    let workspace = Workspace::with([
        "README.md",
        "src/main.rs",
        "src/lib.rs",
        "src/net/HTTP.RS",
        "docs/guide.md",
    ]);
    let root = workspace.0.clone();
    let mut registry = ToolRegistry::new().with_state(workspace);
    registry.register::<search_files>().expect("its state is there");

    chapter("What the model is told");
    show_all("definition", &registry.tool_definitions());

    chapter("A call as it should be: what is left out takes its default");
    call(&registry, r#"{ "pattern": "**/*.rs", "maxResults": 50 }"#).await;

    chapter(
        "A sloppy call: a name in another style, a number and a boolean as strings, an argument nobody knows",
    );
    call(
        &registry,
        r#"{ "pattern": "**/*.rs", "case_sensitive": "false", "maxResults": "3", "explanation": "to get an overview" }"#,
    )
    .await;

    chapter("A fraction: cut off, and said so");
    call(&registry, r#"{ "pattern": "*/*", "maxResults": 1.9 }"#).await;

    chapter("Wrong calls: nothing runs, and the model reads what to send instead");
    call(&registry, r#"{ "maxResults": "many" }"#).await;
    call(&registry, r#"{ "pattern": "../secrets/*" }"#).await;

    chapter("The function is still a function");
    let files = search_files(
        "*.md".to_owned(),
        true,
        10,
        State::new(Workspace(root.clone())),
        CancellationToken::new(),
    );
    say("by hand", format!("{:?}", files.await));
    fs::remove_dir_all(root).expect("the story's own directory");
}

async fn call(registry: &ToolRegistry, input: &str) {
    say("search_files", input);
    let outcome = registry
        .call(ToolCall::new("toolu_01ABC123", "search_files", input))
        .await;
    for warning in &outcome.warnings {
        say("warning", warning);
    }
    show("tool_result", &outcome.result);
    println!();
}

impl Workspace {
    fn with<const N: usize>(files: [&str; N]) -> Self {
        let root = std::env::temp_dir().join(format!("search-files-{}", std::process::id()));
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("below the root"))
                .expect("the temporary directory is writable");
            fs::write(path, "").expect("the temporary directory is writable");
        }
        Self(root)
    }
}
