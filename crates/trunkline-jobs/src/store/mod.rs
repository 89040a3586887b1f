//! Records and requests in a SQLite file.
