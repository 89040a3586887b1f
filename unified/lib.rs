//! Tests of the libraries with features of serde_json that other dependencies of an application may enable.
