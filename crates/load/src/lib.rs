//! The load generator: plans, key and value generators, sessions, pacing, recording.
