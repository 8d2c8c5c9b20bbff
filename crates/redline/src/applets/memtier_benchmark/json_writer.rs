//! JSON in the layout of memtier_benchmark: tabs, and the comma at the start of the next line.
//!
//! Numbers keep the places that the original prints, which a general writer would not; text is escaped, which the original's is not.

/// JSON that is being written; objects and arrays are closed in the order of their opening.
#[derive(Debug, Default)]
pub struct JsonWriter {
    text: String,
    /// For each open object or array: its closing letter, and whether it has an element.
    open: Vec<(char, bool)>,
}

impl JsonWriter {
    /// Opens an object, under a name or as an element.
    pub fn object(&mut self, name: Option<&str>) {
        self.begin(name, '{', '}');
    }

    /// Opens an array under a name.
    pub fn array(&mut self, name: &str) {
        self.begin(Some(name), '[', ']');
    }

    /// Closes what was opened last.
    pub fn close(&mut self) {
        let depth = self.open.len();
        if let Some((letter, has_elements)) = self.open.pop() {
            self.line(if has_elements { depth } else { depth - 1 });
            self.text.push(letter);
        }
    }

    /// A text; `null` for none.
    pub fn text(&mut self, name: &str, value: Option<&str>) {
        self.value(name, &value.map_or("null".into(), quoted));
    }

    /// `"true"` or `"false"`, which are texts here.
    pub fn truth(&mut self, name: &str, value: bool) {
        self.text(name, Some(if value { "true" } else { "false" }));
    }

    /// A whole number.
    pub fn count(&mut self, name: &str, value: u64) {
        self.value(name, &value.to_string());
    }

    /// A number with so many places; `null` when it is none.
    pub fn number(&mut self, name: &str, value: f64, places: usize) {
        let text = if value.is_finite() { format!("{value:.places$}") } else { "null".into() };
        self.value(name, &text);
    }

    /// What was written, with a line end. Everything must be closed.
    pub fn finish(mut self) -> String {
        debug_assert!(self.open.is_empty(), "an object or array is still open");
        self.text.push('\n');
        self.text
    }

    fn value(&mut self, name: &str, text: &str) {
        self.element();
        self.text.push_str(&quoted(name));
        self.text.push_str(": ");
        self.text.push_str(text);
    }

    fn begin(&mut self, name: Option<&str>, letter: char, closing: char) {
        if !self.open.is_empty() {
            self.element();
        }
        if let Some(name) = name {
            self.text.push_str(&quoted(name));
            self.text.push(':');
        }
        self.text.push(letter);
        self.open.push((closing, false));
    }

    fn element(&mut self) {
        self.line(self.open.len());
        if let Some((_, has_elements)) = self.open.last_mut() {
            if *has_elements {
                self.text.push(',');
            }
            *has_elements = true;
        }
    }

    fn line(&mut self, depth: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n('\t', depth));
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_original_s_and_the_text_is_json() {
        let mut json = JsonWriter::default();
        json.object(None);
        json.object(Some("a \"b\""));
        json.count("n", 1);
        json.number("x", f64::NAN, 2);
        json.number("y", 1.5, 2);
        json.text("t", Some("tab\tquote\""));
        json.text("none", None);
        json.truth("yes", true);
        json.close();
        json.object(Some("empty"));
        json.close();
        json.array("list");
        json.object(None);
        json.close();
        json.close();
        json.close();
        let text = json.finish();
        assert!(text.starts_with(
            "{\n\t\"a \\\"b\\\"\":{\n\t\t\"n\": 1\n\t\t,\"x\": null\n\t\t,\"y\": 1.50\n"
        ));
        assert!(
            text.ends_with("\t,\"empty\":{\n\t}\n\t,\"list\":[\n\t\t{\n\t\t}\n\t\t]\n\t}\n"),
            "{text}"
        );
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
}
