//! Arguments: rules of coercion by example, messages, properties of random calls, and other implementations of JSON Schema as oracles. The
//! suites are one program, since each takes seconds to link.

mod coercion;
mod messages;
mod oracle;
mod properties;
