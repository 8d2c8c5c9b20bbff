//! Renderings of a result, one file each: every one is a pure function of the result.

pub mod csv;
pub mod json;
pub mod nodes;
pub mod text;

#[cfg(test)]
mod tests;
