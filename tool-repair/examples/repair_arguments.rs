//! Repairs the arguments of a call, and shows the changes.

use tool_repair::{Status, repair};

fn main() {
    let repaired = repair("{'path': 'src', 'all': True, 'limit': 1_000,}");
    assert_eq!(repaired.status, Status::Repaired);
    assert_eq!(repaired.text, r#"{"path": "src", "all": true, "limit": 1000}"#);
    for fix in &repaired.fixes {
        eprintln!("byte {}: {}: {}", fix.offset, fix.code, fix.message);
    }
}
