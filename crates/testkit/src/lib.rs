//! Test support: in-process server, scripts, the oracle beside a real server, a fake server.
