//! Texts of which the repair is timed, in three sizes.

/// Sizes with their names in the tables.
pub const SIZES: [(&str, usize); 3] = [("1 KB", 1_000), ("100 KB", 100_000), ("10 MB", 10_000_000)];

const TASKS: [(&str, &str); 4] = [
    ("创建项目结构和主程序文件", "in_progress"),
    ("实现工具调用的格式修正，并为每一处修正写下记录", "pending"),
    ("为流式输出编写测试：在每一个字节处切断", "pending"),
    ("更新 README.md 与 CHANGELOG.md", "completed"),
];

/// Builds a task list as JSON.
pub fn todos(size: usize) -> String {
    list(size, '"')
}

/// Builds the same task list in the notation of Python's `repr`.
pub fn todos_repr(size: usize) -> String {
    list(size, '\'')
}

fn list(size: usize, q: char) -> String {
    let mut text = format!("{{{q}todos{q}: [");
    for (number, (content, status)) in TASKS.iter().cycle().enumerate() {
        let item = format!(
            "{{{q}content{q}: {q}{content}{q}, {q}id{q}: {q}{}{q}, {q}status{q}: {q}{status}{q}}}",
            number + 1
        );
        if text.len() + item.len() + 4 > size {
            break;
        }
        if number > 0 {
            text.push_str(", ");
        }
        text.push_str(&item);
    }
    text.push_str("]}");
    text
}

/// Builds a string without characters to escape.
pub fn long_string(size: usize) -> String {
    filled(
        size,
        "The quick brown fox jumps over the lazy dog. 敏捷的棕色狐狸跳过了懒狗。",
    )
}

/// Builds a string with source code, which has an escape in every line.
pub fn source_file(size: usize) -> String {
    filled(
        size,
        r#"    let words = text.split(\"  \").map(str::trim); // 去掉空白\n"#,
    )
}

fn filled(size: usize, line: &str) -> String {
    let mut text = String::from(r#"{"path": "src/main.rs", "content": ""#);
    while text.len() + line.len() + 2 <= size {
        text.push_str(line);
    }
    text.push_str("\"}");
    text
}

/// Splits a text into pieces of about this many bytes, between characters.
pub fn pieces(text: &str, length: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut left = text;
    while let Some(end) = (length..left.len()).find(|end| left.is_char_boundary(*end)) {
        let (piece, rest) = left.split_at(end);
        found.push(piece);
        left = rest;
    }
    found.push(left);
    found
}
