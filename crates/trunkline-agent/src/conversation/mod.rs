//! What was said, kept.
