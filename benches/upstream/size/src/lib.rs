//! Only its dependencies count.
