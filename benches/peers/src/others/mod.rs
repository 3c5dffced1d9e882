//! The peers, each called by the tool's name through its own registry, as in its documentation.

pub mod llm_tool;
pub mod rig;
pub mod rmcp;
pub mod swiftide;
pub mod tools_rs;

use crate::row::Row;

pub fn rows() -> Vec<Row> {
    vec![
        llm_tool::unsanitized(),
        llm_tool::as_it_comes(),
        swiftide::row(),
        tools_rs::row(),
        rmcp::row(),
        rig::row(),
    ]
}
