//! The store: workers, connections, dispatch, commands, configuration.
