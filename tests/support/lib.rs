//! What several test suites share.
