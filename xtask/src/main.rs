//! Project tasks: test, tidy, versus.

fn main() {}
