//! Tests of the whole: the built binary beside the real programs.

mod oracle;
mod store;
