//! Ready-made tools.
