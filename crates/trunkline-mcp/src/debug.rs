//! `Debug` of types with fields that are secret, or that do not implement it.

/// Implements `Debug` for a type with these fields only.
macro_rules! debug_fields {
    ($type:ty: $($field:ident),*) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    struct Client {
        name: &'static str,
        #[expect(dead_code, reason = "it is secret")]
        token: &'static str,
    }

    debug_fields!(Client: name);

    struct Key;

    debug_fields!(Key:);

    #[test]
    fn other_fields_are_omitted() {
        let client = Client { name: "a", token: "secret" };
        assert_eq!(format!("{client:?} {Key:?}"), r#"Client { name: "a", .. } Key { .. }"#);
    }
}
