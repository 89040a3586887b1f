//! Names of tools and prompts in lists.

use ring::digest::{SHA256, digest};

/// The minimum of the maximum length, so that the beginning of a name stays legible.
const MIN_LENGTH: usize = 16;

/// The length of the digest that distinguishes names.
const DIGEST_BYTES: usize = 4;

/// A name of at most `max` characters instead of a longer one: its beginning, and the first 32 bits of its SHA-256 in
/// hexadecimal. It depends on the name only, so it does not change when other tools are added. `None` if the name is
/// short enough.
pub(crate) fn shortened(name: &str, max: usize) -> Option<String> {
    let max = max.max(MIN_LENGTH);
    if name.chars().count() <= max {
        return None;
    }
    let beginning = name.chars().take(max - 1 - 2 * DIGEST_BYTES);
    let beginning: String = beginning.collect();
    let digest = digest(&SHA256, name.as_bytes());
    let digits = digest.as_ref().iter().take(DIGEST_BYTES);
    Some(digits.fold(beginning + "_", |name, byte| format!("{name}{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[track_caller]
    fn check(name: &str, max: usize, expected: Option<&str>) {
        let found = shortened(name, max);
        assert_eq!(found.as_deref(), expected, "{name}");
        assert!(found.is_none_or(|found| found.chars().count() == max.max(16)));
    }

    #[test]
    fn long_names() {
        check("todo_create", 40, None);
        check(&"x".repeat(40), 40, None);
        // The digests are those of `printf %s NAME | sha256sum`.
        check(&"x".repeat(41), 40, Some(&format!("{}_3164596d", "x".repeat(31))));
        check(&"x".repeat(42), 40, Some(&format!("{}_2b2573d5", "x".repeat(31))));
        check(&"é".repeat(20), 16, Some(&format!("{}_f5cacffb", "é".repeat(7))));
        check(&"é".repeat(16), 3, None);
        check(
            "servicenow-catalog__get_configuration_item_with_all_relationship",
            40,
            Some("servicenow-catalog__get_configu_be8320e6"),
        );
    }
}
