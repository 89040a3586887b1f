//! Tools that are commands, from a folder of manifests.
