//! Requests without internal tools, which are forwarded byte for byte. The entry is [`pass_through`].

pub(crate) mod passing_message;
pub(crate) mod passed_turn;
pub(crate) mod passed_body;
pub(crate) mod pass_through;
