//! What a client would have its reply written in: `Accept` (RFC 9110, section 12.5.1).

use http::HeaderMap;
use http::header::ACCEPT;
use trunkline_core::format::Format;

use trunkline_client::media_type::{EDN_TYPE, JSON_TYPES, SPACE, parameter, token};

/// The format that the client prefers; that of its request if it has no preference.
///
/// A header that is malformed, or that accepts neither format, says nothing: a reply that was not
/// wished for is of more use than none to a call that may have run.
pub(super) fn preferred(headers: &HeaderMap, request: Format) -> Format {
    let mut values = headers.get_all(ACCEPT).iter();
    let Some(first) = values.next() else { return request };
    if values.next().is_none() {
        // What most clients send.
        match first.as_bytes() {
            b"*/*" => return request,
            b"application/json" => return Format::Json,
            b"application/edn" => return Format::Edn,
            _ => {}
        }
    }
    let mut weights = Weights::default();
    for value in headers.get_all(ACCEPT) {
        if value.to_str().ok().and_then(|list| weights.read(list)).is_none() {
            return request;
        }
    }
    match weights.json.weight.cmp(&weights.edn.weight) {
        std::cmp::Ordering::Less => Format::Edn,
        std::cmp::Ordering::Equal => request,
        std::cmp::Ordering::Greater => Format::Json,
    }
}

/// How welcome each format is.
#[derive(Default)]
struct Weights {
    json: Weight,
    edn: Weight,
}

/// The weight of the range that names a format best.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    precision: Precision,
    /// In thousandths.
    weight: u16,
}

/// How exactly a range names a format: the more exact one goes before the others.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    #[default]
    None,
    /// `*/*`
    Anything,
    /// `application/*`
    Kind,
    /// `application/edn`
    Type,
    /// `application/edn;charset=utf-8`
    Parameters,
}

impl Weights {
    /// Takes a list of ranges in; none if it is malformed.
    fn read(&mut self, mut list: &str) -> Option<()> {
        loop {
            // There may be nothing between commas.
            list = list.trim_start_matches(|c| c == ',' || SPACE.contains(&c));
            if list.is_empty() {
                return Some(());
            }
            let (range, rest) = Range::read(list)?;
            self.json = self.json.max(range.weight_of(&JSON_TYPES));
            self.edn = self.edn.max(range.weight_of(&[EDN_TYPE]));
            list = rest.trim_start_matches(SPACE);
            if !list.is_empty() && !list.starts_with(',') {
                return None;
            }
        }
    }
}

/// One of the ranges of a list.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    parameters: Parameters,
    weight: u16,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameters {
    None,
    /// What all replies are.
    Utf8,
    /// Something that no reply is.
    Others,
}

impl<'a> Range<'a> {
    /// The range that a list begins with, and what follows it.
    fn read(list: &'a str) -> Option<(Self, &'a str)> {
        let (kind, rest) = token(list)?;
        let (subtype, mut rest) = token(rest.strip_prefix('/')?)?;
        let mut range = Self { kind, subtype, parameters: Parameters::None, weight: 1_000 };
        let mut is_weighed = false;
        while let Some(parameters) = rest.trim_start_matches(SPACE).strip_prefix(';') {
            rest = parameters.trim_start_matches(SPACE);
            if rest.is_empty() || rest.starts_with([';', ',']) {
                continue;
            }
            let (name, value, after) = parameter(rest)?;
            if is_weighed {
                // Once there were parameters of the header's own behind the weight.
            } else if name.eq_ignore_ascii_case("q") {
                // Unlike other values, it is never quoted.
                let (weight, _) = token(&rest[name.len() + 1..])?;
                range.weight = thousandths(weight)?;
                is_weighed = true;
            } else if name.eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8") {
                if range.parameters == Parameters::None {
                    range.parameters = Parameters::Utf8;
                }
            } else {
                range.parameters = Parameters::Others;
            }
            rest = after;
        }
        Some((range, rest))
    }

    /// The weight that it gives a format with these names.
    fn weight_of(&self, names: &[&str]) -> Weight {
        let is_named = |name: &&str| {
            name.split_once('/').is_some_and(|(kind, subtype)| {
                self.kind.eq_ignore_ascii_case(kind) && self.subtype.eq_ignore_ascii_case(subtype)
            })
        };
        let precision = match self.parameters {
            Parameters::Others => Precision::None,
            Parameters::None if (self.kind, self.subtype) == ("*", "*") => Precision::Anything,
            Parameters::None if self.subtype == "*" && is_application(self.kind) => Precision::Kind,
            Parameters::None if names.iter().any(is_named) => Precision::Type,
            Parameters::Utf8 if names.iter().any(is_named) => Precision::Parameters,
            _ => Precision::None,
        };
        match precision {
            Precision::None => Weight::default(),
            precision => Weight { precision, weight: self.weight },
        }
    }
}

fn is_application(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("application")
}

/// A weight (section 12.4.2).
fn thousandths(text: &str) -> Option<u16> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    if digits.len() > 3 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let part: u16 = format!("{digits:0<3}").parse().ok()?;
    match whole {
        "0" => Some(part),
        "1" if part == 0 => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
#[path = "accept/tests.rs"]
mod tests;
