//! The Redis wire protocol: request parser, reply writer, client-side reply reader.
