//! The setters of members that several types have.

/// Defines the named setters of a type.
macro_rules! setters {
    ($type:ty: $($setter:ident),+) => {
        impl $type {
            $(setters!(@$setter);)+
        }
    };
    (@title) => {
        /// Sets the display name. Default: that of the operation.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.title = Some(title.into());
            self
        }
    };
    (@description) => {
        /// Sets the description. Default: that of the operation.
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.description = Some(description.into());
            self
        }
    };
    (@mime_type) => {
        /// Sets the media type. Resources without one have `text/plain` for text, and `application/json` for other results.
        #[must_use]
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.mime_type = Some(mime_type.into());
            self
        }
    };
    (@annotations) => {
        /// Sets the hints about the use.
        #[must_use]
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.annotations = Some(annotations);
            self
        }
    };
    (@icon) => {
        /// Adds an icon.
        #[must_use]
        pub fn icon(mut self, icon: Icon) -> Self {
            self.icons.push(icon);
            self
        }
    };
    (@meta) => {
        /// Adds a member of `_meta`. The name should have a prefix, such as `com.example/`.
        #[must_use]
        pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
            self.meta.insert(name.into(), value.into());
            self
        }
    };
    (@ttl) => {
        /// Sets the time for which clients may cache the contents. Default 0.
        #[must_use]
        pub fn ttl(mut self, ttl: Duration) -> Self {
            self.caching.ttl = ttl;
            self
        }
    };
    (@public) => {
        /// Declares that the contents are the same for all callers, so that shared caches may store them.
        #[must_use]
        pub fn public(mut self) -> Self {
            self.caching.is_public = true;
            self
        }
    };
}
