//! Sorted sets.

pub mod member;
pub mod tree;
