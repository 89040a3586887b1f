//! Many clients at once, over real sockets, and a server that is killed under them.

mod caller;
mod concurrency;
mod crash;
mod ledger;
mod serving;
