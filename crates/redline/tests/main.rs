//! Tests of the whole: the built binary beside the real programs.

mod bad_input;
mod keys;
mod oracle;
mod sorted_sets;
mod store;
mod streams;
mod strings;
