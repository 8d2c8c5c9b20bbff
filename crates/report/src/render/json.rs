//! The result as JSON, as `schema.json` of this crate describes it.

use crate::model::RunResult;

/// Indented JSON with a line end. What it holds is all of the result, so it can be rendered again.
pub fn render(run: &RunResult) -> String {
    let mut text = serde_json::to_string_pretty(run)
        .expect("a result has text keys and finite numbers only, so it is JSON");
    text.push('\n');
    text
}
