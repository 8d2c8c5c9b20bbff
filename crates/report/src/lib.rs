//! What a run produced: the result model and its renderings.
