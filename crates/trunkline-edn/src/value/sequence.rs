use super::Value;

/// A newtype of a vector of values.
macro_rules! sequence {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, Hash)]
        pub struct $name(Vec<Value>);

        impl $name {
            /// An empty collection.
            #[must_use]
            pub const fn new() -> Self {
                Self(Vec::new())
            }

            /// Appends a value.
            pub fn push(&mut self, value: impl Into<Value>) {
                self.0.push(value.into());
            }

            /// The values.
            #[must_use]
            pub fn into_vec(self) -> Vec<Value> {
                self.0
            }
        }

        impl std::ops::Deref for $name {
            type Target = [Value];

            fn deref(&self) -> &[Value] {
                &self.0
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut [Value] {
                &mut self.0
            }
        }

        impl<T: Into<Value>> From<Vec<T>> for $name {
            fn from(values: Vec<T>) -> Self {
                values.into_iter().collect()
            }
        }

        impl<T: Into<Value>, const N: usize> From<[T; N]> for $name {
            fn from(values: [T; N]) -> Self {
                values.into_iter().collect()
            }
        }

        impl<T: Into<Value>> FromIterator<T> for $name {
            fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
                Self(values.into_iter().map(Into::into).collect())
            }
        }

        impl<T: Into<Value>> Extend<T> for $name {
            fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
                self.0.extend(values.into_iter().map(Into::into));
            }
        }

        impl IntoIterator for $name {
            type Item = Value;
            type IntoIter = std::vec::IntoIter<Value>;

            fn into_iter(self) -> Self::IntoIter {
                self.into_vec().into_iter()
            }
        }

        impl<'a> IntoIterator for &'a $name {
            type Item = &'a Value;
            type IntoIter = std::slice::Iter<'a, Value>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }
    };
}

sequence! {
    /// Values in parentheses. As in Clojure, a list equals the [`Vector`] of the same values if both are
    /// [`Value`]s.
    List
}

sequence! {
    /// Values in brackets. Arrays of JSON become vectors.
    Vector
}
