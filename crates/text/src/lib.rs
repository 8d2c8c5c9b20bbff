//! Number and float text as Redis prints it, glob patterns, cluster slots.
