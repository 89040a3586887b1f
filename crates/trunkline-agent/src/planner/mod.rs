//! What is done without a model.
