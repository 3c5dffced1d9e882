//! Searches of a folder that another thread exchanges for a link which leads out.

use serde_json::json;

use crate::folder::TestFolder;
use crate::swapped_folder::SwappedFolder;

#[tokio::test]
async fn search_of_a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let outer = TestFolder::new();
    outer.write("outside/hidden", "needle of the outside\n");
    outer.write("root/name/file", "needle\n");
    let root = outer.path.join("root");
    let folder = TestFolder::searching_at(&root);
    let swapped = SwappedFolder::start(&outer);
    for _ in 0..500 {
        for (tool, arguments) in [
            ("Grep", json!({ "pattern": "needle", "output_mode": "content" })),
            (
                "Grep",
                json!({ "pattern": "needle", "output_mode": "content", "path": "name" }),
            ),
            ("Glob", json!({ "pattern": "**/*" })),
            ("Glob", json!({ "pattern": "*", "path": "name" })),
        ] {
            let answer = folder.call(tool, arguments).await;
            let text = answer.text();
            assert!(!text.contains("outside\n") && !text.contains("hidden"), "{text}");
            assert!(!text.contains("of the outside"), "{text}");
        }
    }
    swapped.stop();
}
