//! `Grep` beside ripgrep: the same files, lines and counts for random patterns.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::folder::TestFolder;

/// Number of patterns; each is searched in three trees and all modes. `SEARCH_LONG=1` has four times as many.
const PATTERNS: usize = 50;

/// Random numbers from a fixed seed, so that a failure is repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn pattern(&mut self) -> String {
        let atoms = [
            "a",
            "b",
            "foo",
            "bar",
            "é",
            "日",
            ".",
            "\\w+",
            "\\d",
            "[a-f]+",
            "^",
            "$",
            "\\b",
            "(?:foo|b.r)",
            "x?",
            "o*",
            "\\s",
            "fn ",
            "\\(",
            "!",
            "\"",
            "A",
        ];
        let count = 1 + self.below(3);
        (0..count).map(|_| self.pick(&atoms)).collect()
    }
}

fn trees() -> Vec<TestFolder> {
    let words = [
        "foo",
        "bar",
        "baz",
        "fn main() {",
        "é日",
        "Foo Bar",
        "x1 2",
        "",
        "\tindent",
        "a.b!",
        "\"quoted\"",
        "ABC",
    ];
    let mut random = Random(36);
    let mut trees = Vec::new();
    for tree in 0..3 {
        let folder = TestFolder::searching();
        for at in 0..30 {
            let name = random.pick(&[
                "a.rs", "b.txt", "c.py", "d", ".hidden", "e.log", "日.md", "f-g.js",
            ]);
            let directory = random.pick(&[
                "",
                "src/",
                "src/deep/er/",
                "target/",
                ".config/",
                "sub/",
                "sub/build/",
                "a.rs.d/",
            ]);
            let mut text = String::new();
            for _ in 0..random.below(40) {
                for _ in 0..=random.below(4) {
                    text.push_str(random.pick(&words));
                    text.push(' ');
                }
                text.push_str(random.pick(&["\n", "\n", "\n", "\r\n"]));
            }
            if random.below(4) == 0 {
                text.push_str("foo without an end");
            }
            let name = format!("{directory}{at}{name}");
            match random.below(12) {
                0 => folder.write(&name, format!("\0{text}")),
                1 => {
                    let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
                    folder.write(&name, units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
                }
                2 => folder.write(&name, format!("\u{feff}{text}")),
                3 => folder.write(&name, [text.as_bytes(), b"\xff\xfefoo\n"].concat()),
                _ => folder.write(&name, text),
            }
        }
        if tree > 0 {
            folder.write(".gitignore", "target/\n*.log\n!sub/**/*.log\n/src/deep\n");
            folder.write("sub/.gitignore", "build\n!*.py\n3*\n");
        }
        if tree > 1 {
            folder.write("sub/.ignore", "!build\n*.md\n");
            folder.write(".ignore", "!*.log\n.config/\n");
            folder.write("src/.git/HEAD", "foo");
            folder.write("src/.git/info/exclude", "*.txt\n");
            folder.write("src/.gitignore", "!deep\n");
        }
        trees.push(folder);
    }
    trees
}

/// Flags of both programs.
struct Flags {
    arguments: Vec<&'static str>,
    values: Value,
}

fn flags() -> Vec<Flags> {
    let flags = |arguments: &[&'static str], values: Value| Flags {
        arguments: arguments.to_vec(),
        values,
    };
    vec![
        flags(&[], json!({})),
        flags(&["-i"], json!({ "-i": true })),
        flags(&["-A", "2"], json!({ "-A": 2 })),
        flags(&["-B", "1"], json!({ "-B": 1 })),
        flags(&["-C", "3"], json!({ "-C": 3 })),
        flags(&["-g", "*.rs"], json!({ "glob": "*.rs" })),
        flags(&["-g", "!sub"], json!({ "glob": "!sub" })),
        flags(&["-t", "py"], json!({ "type": "py" })),
        flags(&["-U", "--multiline-dotall"], json!({ "multiline": true })),
    ]
}

/// Runs ripgrep, which is given the filters that the specification adds to its own.
fn ripgrep(folder: &TestFolder, mode: &[&str], flags: &Flags, pattern: &str) -> Option<String> {
    let output = Command::new("rg")
        .current_dir(&folder.path)
        .args([
            "--no-config",
            "--color=never",
            "--no-heading",
            "--with-filename",
            "--hidden",
            "--no-require-git",
        ])
        .args([
            "--no-ignore-global",
            "--sort=path",
            "--no-ignore-parent",
            "-g",
            "!.git",
        ])
        .args(mode)
        .args(&flags.arguments)
        .args(["-e", pattern, "."])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // 2: an invalid pattern.
    if output.status.code() == Some(2) {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let lines = text.lines().filter(|line| {
        !line.starts_with("WARNING") && !line.contains("WARNING: stopped searching binary file")
    });
    let lines = lines.map(|line| line.strip_prefix("./").unwrap_or(line).to_owned());
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Sorts lines by file, since ripgrep compares paths by component.
fn by_file(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| *line != "--" && !line.is_empty()) {
        let end = line.find([':']).unwrap_or(line.len());
        files
            .entry(line[..end].to_owned())
            .or_default()
            .push(line.to_owned());
    }
    files
}

#[tokio::test]
async fn finds_what_ripgrep_finds() {
    let has_ripgrep = Command::new("rg").arg("--version").output();
    if !has_ripgrep.as_ref().is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("REPAIR_TESTS").is_none(),
            "ripgrep is missing; `.ci/run programs` installs it"
        );
        eprintln!("IGNORED: ripgrep is missing (Debian's package `ripgrep`), so Grep was not compared");
        return;
    }
    let trees = trees();
    let mut random = Random(7);
    let (mut compared, mut with_matches) = (0, 0);
    let is_long = std::env::var_os("SEARCH_LONG").is_some();
    for _ in 0..if is_long { 4 * PATTERNS } else { PATTERNS } {
        let pattern = random.pattern();
        for folder in &trees {
            for flags in flags() {
                let is_context = flags
                    .arguments
                    .iter()
                    .any(|flag| ["-A", "-B", "-C"].contains(flag));
                for (mode, mode_flags) in [
                    ("content", &["-n"][..]),
                    ("files_with_matches", &["-l"]),
                    ("count", &["-c"]),
                    ("only", &["-n", "-o"]),
                ] {
                    if (is_context || flags.arguments.contains(&"-U")) && mode == "only"
                        || is_context && mode != "content"
                        || random.below(8) > 0
                    {
                        continue;
                    }
                    let mut arguments = json!({
                        "pattern": pattern,
                        "output_mode": if mode == "only" { "content" } else { mode },
                        "-o": mode == "only",
                        "head_limit": 0,
                    });
                    arguments
                        .as_object_mut()
                        .unwrap()
                        .extend(flags.values.as_object().unwrap().clone());
                    let answer = folder.call("Grep", arguments.clone()).await;
                    let Some(expected) = ripgrep(folder, mode_flags, &flags, &pattern) else {
                        assert_eq!(answer.code(), "invalid_pattern", "{pattern}");
                        continue;
                    };
                    let text = answer.ok();
                    if text.contains("continue with `offset`") {
                        continue;
                    }
                    // For an empty match at the end of a last line without an ending, ripgrep 13 shows the whole line.
                    if mode == "only" && expected.lines().any(|line| line.ends_with(':')) {
                        continue;
                    }
                    let text = if text.starts_with("no match in ") {
                        ""
                    } else {
                        text
                    };
                    let (ours, theirs) = if is_context {
                        // Paths have a `-`, so lines of contexts cannot be assigned to files; all lines are compared.
                        let sorted = |text: &str| {
                            let mut lines: Vec<String> = text
                                .lines()
                                .filter(|line| *line != "--")
                                .map(str::to_owned)
                                .collect();
                            lines.sort();
                            BTreeMap::from([(String::new(), lines)])
                        };
                        (sorted(text), sorted(&expected))
                    } else {
                        (by_file(text), by_file(&expected))
                    };
                    for file in ours.keys().chain(theirs.keys()) {
                        assert_eq!(ours.get(file), theirs.get(file), "{arguments}: {file:?}");
                    }
                    compared += 1;
                    with_matches += usize::from(!ours.is_empty());
                }
            }
        }
    }
    println!("{compared} searches compared with ripgrep, {with_matches} with matches");
}
