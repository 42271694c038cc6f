//! What goes to Python as text.

/// A value as JSON.
pub fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("a value of the model can be written")
}
