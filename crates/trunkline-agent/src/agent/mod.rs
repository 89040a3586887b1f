//! The loop: a turn of a conversation, step by step.
