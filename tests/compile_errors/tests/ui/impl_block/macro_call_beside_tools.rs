use tool_runtime::{tool, tools};

struct Store;

macro_rules! a {
    () => {
        /// A.
        #[tool]
        async fn a(&self) {}
    };
}

#[tools]
impl Store {
    a!();

    /// B.
    #[tool]
    async fn b(&self) {}
}

fn main() {}
