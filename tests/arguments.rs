//! Arguments of calls: rules of coercion by example, messages, properties of random calls, and comparisons with other implementations of
//! JSON Schema. The suites are one program, since each takes seconds to link.

mod coercion;
mod messages;
mod oracle;
mod properties;
