//! Mistakes in tools, and the compiler's messages about them, in `tests/ui`.
