use tool_runtime::permission::{Decision, Permission};

fn main() {
    let _ = Permission::new(|_request| Decision::Allow);
}
