//! Messages of edits: the model reads why a quote has no place, and what to send instead.

use serde_json::json;

use crate::folder::TestFolder;

const FILE: &str =
    "fn main() {\n\tlet name = \"it’s\";\n    print(name, 1 < 2);\n\n    last_line(of, the, function);\n}\n";

#[tokio::test]
async fn missing_quote_is_explained() {
    for (old, new, expected) in [
        (
            "print(name)",
            "last_line(of, the, function)",
            "no_match: `f` was not changed: old_string is not in the file, and new_string is there already, at line 5; the edit may have been made before",
        ),
        (
            "  print(name, 1 < 2);\n\n    last_line(of, the, function);\n  }",
            "x",
            "no_match: `f` was not changed: old_string is in the file at line 3, but with another indentation (`→` is a tab, `·` a space): \
             line 3 is `····print(name, 1 < 2);`, and old_string has `··print(name, 1 < 2);`; send the indentation of the file",
        ),
        (
            "print(name, 1 < 2);\\n\\n    last_line",
            "x",
            "no_match: `f` was not changed: old_string is in the file at line 3, but `\\n` is written out in old_string; send the character itself",
        ),
        (
            "print(name, 1 &lt; 2);",
            "x",
            "no_match: `f` was not changed: old_string is in the file at line 3, but `&lt;` is written out in old_string; send the character itself",
        ),
        (
            "FN MAIN() {",
            "x",
            "no_match: `f` was not changed: old_string is in the file at line 1, but in other letter case; send the letters of the file",
        ),
        (
            "7\tfn main() {",
            "x",
            "no_match: `f` was not changed: old_string has line numbers in front of its lines, and the text without them is at line 1; send the text \
             without line numbers",
        ),
        (
            "    last_line(of, the, functions);\n}",
            "x",
            "no_match: `f` was not changed: old_string is not in the file; the most similar lines are:\n\
             5\t    last_line(of, the, function);\n \t                               ^ here old_string has `s);`\n6\t}",
        ),
        (
            "nothing like this at all",
            "x",
            "no_match: `f` was not changed: old_string is not in the file, and none of its 6 lines is similar; read the file again",
        ),
    ] {
        let folder = TestFolder::new();
        folder.write("f", FILE);
        folder.call("Read", json!({ "file_path": "f" })).await.ok();
        let edit = json!({ "file_path": "f", "old_string": old, "new_string": new });
        let answer = folder.call("Edit", edit).await;
        assert_eq!(answer.text(), expected, "{old:?}");
        assert_eq!(folder.text("f"), FILE);
    }
}

#[tokio::test]
async fn several_places_are_named() {
    let folder = TestFolder::new();
    folder.write("f", "a\n".repeat(30));
    let edit = json!({ "file_path": "f", "old_string": "a", "new_string": "b" });
    let answer = folder.call("Edit", edit).await;
    assert_eq!(
        answer.text(),
        "several_matches: old_string is 30 times in `f`, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 …; \
         nothing was changed: quote more lines around the change, or set `replace_all` to replace all exact occurrences"
    );
}

#[tokio::test]
async fn answer_has_the_new_lines_with_their_numbers() {
    let folder = TestFolder::new();
    let lines: Vec<String> = (1..=20).map(|at| format!("line {at}\n")).collect();
    folder.write("f", lines.concat());
    let edit = json!({ "file_path": "f", "old_string": "line 10\n", "new_string": "ten\nten and a half\n" });
    let answer = folder.call("Edit", edit).await;
    assert_eq!(
        answer.ok(),
        "edited f at line 10\n6\tline 6\n7\tline 7\n8\tline 8\n9\tline 9\n10\tten\n11\tten and a half\n12\tline 11\n13\tline 12\n14\tline 13\n15\tline 14"
    );
    let edit =
        json!({ "file_path": "f", "old_string": "line 1", "new_string": "row 1", "replace_all": true });
    let answer = folder.call("Edit", edit).await;
    assert!(
        answer
            .ok()
            .starts_with("edited f at 10 places, lines 1, 12, 13, 14, 15, 16, 17, 18, 19, 20\n1\trow 1\n"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn line_of_10_mb_is_edited() {
    let folder = TestFolder::new();
    let long = "abcdefgh".repeat(10 << 17);
    folder.write("f", format!("{long}needle{long}"));
    let edit = json!({ "file_path": "f", "old_string": "needle", "new_string": "pin" });
    let answer = folder.call("Edit", edit).await;
    assert!(answer.ok().len() < 1_000, "{}", answer.text().len());
    assert_eq!(folder.text("f"), format!("{long}pin{long}"));
    let edit = json!({ "file_path": "f", "old_string": "abcdefghX", "new_string": "pin" });
    assert_eq!(folder.call("Edit", edit).await.code(), "no_match");
    folder.write("large", vec![b'a'; 51 << 20]);
    let edit = json!({ "file_path": "large", "old_string": "b", "new_string": "c" });
    assert_eq!(folder.call("Edit", edit).await.code(), "too_large");
}
