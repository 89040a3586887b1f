//! One binary of tests.
