//! A JSON value as YAML in blocks, for readers of YAML 1.1 and 1.2.
//!
//! Texts are quoted as in JSON. YAML 1.1 takes `1e-7` for a text, so numbers with an exponent have a point and a sign: `1.0e-7`.

use serde_json::Value;

/// Writes a value as a document.
pub(super) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text
}

/// Appends the lines of a value, indented by `depth`; the first line begins at the end of `text`.
fn write(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                *text += if at == 0 { "" } else { &indent };
                *text += key;
                *text += ":";
                nested(value, depth + 1, text);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (at, value) in list.iter().enumerate() {
                *text += if at == 0 { "" } else { &indent };
                *text += "- ";
                write(value, depth + 1, text);
            }
        }
        Value::Number(number) => *text += &(with_point(&number.to_string()) + "\n"),
        // JSON, which YAML takes as it is.
        value => *text += &format!("{value}\n"),
    }
}

/// Appends the value of a key.
fn nested(value: &Value, depth: usize, text: &mut String) {
    let is_block = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    *text += &if is_block { format!("\n{}", "  ".repeat(depth)) } else { " ".into() };
    write(value, depth, text);
}

/// A number as YAML 1.1 knows it.
fn with_point(number: &str) -> String {
    let Some((digits, exponent)) = number.split_once('e') else { return number.into() };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_are_indented_and_numbers_have_a_point() {
        let value = json!({
            "a": 1, "b": [1e-7, 2.5e30, -0.5, "x: \"y\"\n"], "c": {"d": null, "e": [], "f": {}}, "g": [{"h": [1, [2]], "i": true}],
        });
        let expected = "a: 1\nb:\n  - 1.0e-7\n  - 2.5e+30\n  - -0.5\n  - \"x: \\\"y\\\"\\n\"\nc:\n  d: null\n  e: []\n  f: {}\n\
                        g:\n  - h:\n      - 1\n      - - 2\n    i: true\n";
        assert_eq!(yaml(&value), expected);
        assert_eq!(serde_yaml_ng::from_str::<Value>(expected).unwrap(), value);
    }

    #[test]
    fn a_report_reads_back_as_its_json() {
        let value = serde_json::to_value(super::super::tests::sample()).unwrap();
        assert_eq!(serde_yaml_ng::from_str::<Value>(&yaml(&value)).unwrap(), value);
    }
}
