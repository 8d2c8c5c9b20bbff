//! The one binary: applets and personalities.

fn main() {}
