//! Annotated functions, in one program: each further one would be linked with all libraries again.

mod annotated;
mod arguments;
mod enforced;
mod fast_path;
