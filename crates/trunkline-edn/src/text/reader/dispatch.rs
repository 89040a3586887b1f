//! What begins with `#`.

use super::frame::{Frame, Kind};
use super::{Fault, Read, Reader};
use crate::error::Reason;
use crate::value::Value;

impl Reader<'_> {
    pub(super) fn dispatch(&mut self) -> Result<Read, Fault> {
        let offset = self.at;
        match self.text.as_bytes().get(offset + 1) {
            Some(b'{') => Ok(self.open(Kind::Set, 2)),
            Some(b'_') => {
                self.discarding += 1;
                Ok(self.open(Kind::Discard, 2))
            }
            Some(b'^') => Ok(self.open(Kind::Metadata, 2)),
            Some(b'#') => Ok(self.open(Kind::Symbolic, 2)),
            Some(b':') => self.namespaced_map(),
            _ => match self.text[offset + 1..].chars().next() {
                // Clojure looks dispatching characters up in a table of so many.
                Some(first) if first.is_alphabetic() && u32::from(first) < 256 => self.tag(),
                Some(found) => Err(Fault { reason: Reason::Dispatch { found }, offset }),
                None => Err(Fault { reason: Reason::UnexpectedEnd { within: "a tag" }, offset }),
            },
        }
    }

    fn tag(&mut self) -> Result<Read, Fault> {
        let offset = self.at;
        self.at += 1;
        let Value::Symbol(tag) = self.symbol_or_number()? else {
            return Err(Fault { reason: Reason::Tag, offset });
        };
        self.frames.push(Frame { kind: Kind::Tag(tag), start: self.values.len(), offset });
        Ok(Read::Open)
    }

    fn namespaced_map(&mut self) -> Result<Read, Fault> {
        let offset = self.at;
        let fault = || Fault { reason: Reason::NamespacedMap, offset };
        self.at += 2;
        self.skip_white();
        let symbol = match self.peek() {
            // A keyword.
            Some(b':') | None => return Err(fault()),
            Some(_) => self.symbol_or_number().map_err(|_| fault())?,
        };
        let Value::Symbol(namespace) = symbol else { return Err(fault()) };
        self.skip_white();
        // Behind a slash alone, keys would have another namespace when they are read back.
        let is_namespace = namespace.namespace().is_none() && namespace.as_str() != "/";
        if !is_namespace || self.peek() != Some(b'{') {
            return Err(fault());
        }
        let kind = Kind::NamespacedMap(namespace.as_str().into());
        self.frames.push(Frame { kind, start: self.values.len(), offset });
        self.at += 1;
        Ok(Read::Open)
    }
}
