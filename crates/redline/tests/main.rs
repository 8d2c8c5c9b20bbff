//! Tests of the whole: the built binary beside the real programs.

mod keys;
mod oracle;
mod store;
mod strings;
