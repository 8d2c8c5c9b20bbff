//! Checks JSON against a JSON Schema: the few keywords that this project's schemas use, and no others.

use serde_json::{Map, Value};

/// Keywords that say nothing about the value.
const ANNOTATIONS: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Everything in `value` that breaks `schema`, as sentences that begin with where it is; nothing if it is valid.
///
/// # Panics
/// On a keyword that is not known here, for a rule that nobody checks is no rule.
pub fn complaints(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let rules = schema.as_object().expect("a schema is an object");
    for (keyword, rule) in rules {
        let holds = match keyword.as_str() {
            annotation if ANNOTATIONS.contains(&annotation) => true,
            "$ref" => {
                let pointer = rule.as_str().and_then(|text| text.strip_prefix('#'));
                let target = pointer.and_then(|pointer| root.pointer(pointer));
                check(root, target.expect("a reference leads somewhere"), value, place, found);
                true
            }
            "type" => has_type(rule.as_str().expect("a type is a word"), value),
            "const" => rule == value,
            "enum" => rule.as_array().expect("an enum is a list").contains(value),
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= rule.as_f64()),
            "required" => {
                let names = rule.as_array().expect("required is a list");
                value.as_object().is_none_or(|object| {
                    names.iter().filter_map(Value::as_str).all(|name| object.contains_key(name))
                })
            }
            "items" => {
                for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{place}[{nth}]"), found);
                }
                true
            }
            "properties" => {
                let properties = rule.as_object().expect("properties is an object");
                each(value, |name, inner| {
                    if let Some(rule) = properties.get(name) {
                        check(root, rule, inner, &format!("{place}.{name}"), found);
                    }
                });
                true
            }
            "additionalProperties" => {
                let own = rules.get("properties").and_then(Value::as_object);
                each(value, |name, inner| {
                    if own.is_none_or(|own| !own.contains_key(name)) {
                        check(root, rule, inner, &format!("{place}.{name}"), found);
                    }
                });
                true
            }
            other => panic!("the keyword {other} is not known here"),
        };
        if !holds {
            found.push(format!("{place}: {value} breaks {keyword} {rule}"));
        }
    }
}

fn each(value: &Value, mut visit: impl FnMut(&str, &Value)) {
    for (name, inner) in value.as_object().unwrap_or(&Map::new()) {
        visit(name, inner);
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the type {other} is not known here"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::complaints;

    #[test]
    fn what_breaks_a_rule_is_found_and_named() {
        let schema = json!({
            "type": "object",
            "required": ["counts"],
            "properties": { "counts": { "type": "array", "items": { "$ref": "#/$defs/count" } } },
            "additionalProperties": { "enum": ["a", "b"] },
            "$defs": { "count": { "type": "integer", "minimum": 0 } }
        });
        for (value, wrong) in [
            (json!({ "counts": [0, 5], "other": "a" }), 0),
            (json!({ "counts": [-1, 1.5, "x"] }), 3),
            (json!({ "other": "c" }), 2),
            (json!([]), 1),
        ] {
            assert_eq!(complaints(&schema, &value).len(), wrong, "{value}");
        }
        assert!(complaints(&schema, &json!({ "counts": [-1] }))[0].starts_with("$.counts[0]: -1"));
    }
}
