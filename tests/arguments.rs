//! Arguments: the rules of coercion by example, the messages about what is wrong, properties of random calls, and other
//! implementations of JSON Schema as oracles. One program, since each takes seconds to link.

mod coercion;
mod messages;
mod oracle;
mod properties;
