//! The preferred format of a reply: `Accept` (RFC 9110, section 12.5.1).

use std::iter;

use http::HeaderMap;
use http::header::ACCEPT;
use trunkline_core::format::Format;

use super::fields::Fields;

use trunkline_client::media_type::{SPACE, parameter, token};

/// The format in `formats` that the client prefers, or the format of the request without a preference.
///
/// A header that is malformed or accepts none of the formats is ignored: the call may have run, and a reply in
/// another format is more useful than none.
pub(super) fn preferred(fields: &Fields<'_>, request: Format, formats: &[Format]) -> Format {
    let Some(first) = fields.accept.first else { return request };
    if !fields.accept.is_repeated {
        // The values that most clients send.
        match first.to_str() {
            Ok("*/*") => return request,
            Ok("application/json") => return Format::Json,
            _ => {}
        }
    }
    let weight = |format| {
        let mut best = Weight::default();
        for value in fields.accepts() {
            for range in ranges(value.to_str().ok()?) {
                best = best.max(range?.weight_of(format));
            }
        }
        Some(best.weight)
    };
    let of_request = weight(request);
    let better = formats.iter().copied().find(|format| weight(*format) > of_request);
    better.unwrap_or(request)
}

/// Whether `Accept` names a media type, such as `text/event-stream`, with a weight above zero. Wildcards do not
/// count.
#[must_use]
pub fn accepts_by_name(headers: &HeaderMap, media_type: &str) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(ranges)
        .flatten()
        .any(|range| range.weight > 0 && range.media_type.eq_ignore_ascii_case(media_type))
}

/// The weight of the most specific range that matches a format.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    precision: Precision,
    /// In thousandths.
    weight: u16,
}

/// The specificity of a range. The most specific range takes precedence.
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

/// The ranges of a list. Parsing ends after a malformed range.
fn ranges(mut list: &str) -> impl Iterator<Item = Option<Range<'_>>> {
    iter::from_fn(move || {
        // Empty list elements are allowed.
        list = list.trim_start_matches(|c| c == ',' || SPACE.contains(&c));
        if list.is_empty() {
            return None;
        }
        let (range, rest) = Range::read(list).unzip();
        list = rest.unwrap_or_default().trim_start_matches(SPACE);
        let is_separated = list.is_empty() || list.starts_with(',');
        Some(range.filter(|_| is_separated))
    })
}

/// A media range.
struct Range<'a> {
    media_type: &'a str,
    parameters: Parameters,
    weight: u16,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameters {
    None,
    /// `charset=utf-8`, which all replies have.
    Utf8,
    /// Parameters that no reply has.
    Others,
}

impl<'a> Range<'a> {
    /// Parses the first range of a list, and returns the rest.
    fn read(list: &'a str) -> Option<(Self, &'a str)> {
        let (_, rest) = token(list)?;
        let (_, mut rest) = token(rest.strip_prefix('/')?)?;
        let media_type = &list[..list.len() - rest.len()];
        let mut range = Self { media_type, parameters: Parameters::None, weight: 1_000 };
        let mut has_weight = false;
        while let Some(parameters) = rest.trim_start_matches(SPACE).strip_prefix(';') {
            rest = parameters.trim_start_matches(SPACE);
            if rest.is_empty() || rest.starts_with([';', ',']) {
                continue;
            }
            let (name, value, after) = parameter(rest)?;
            if has_weight {
                // Parameters after the weight belong to the header (RFC 7231) and are ignored.
            } else if name.eq_ignore_ascii_case("q") {
                // Unlike other values, the weight is never quoted.
                let (weight, _) = token(&rest[name.len() + 1..])?;
                range.weight = thousandths(weight)?;
                has_weight = true;
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

    /// The weight of a format.
    fn weight_of(&self, format: Format) -> Weight {
        let is_named = || format.has_media_type(self.media_type);
        let precision = match (self.parameters, self.media_type) {
            (Parameters::None, "*/*") => Precision::Anything,
            (Parameters::None, kind) if kind.eq_ignore_ascii_case("application/*") => {
                Precision::Kind
            }
            (Parameters::None, _) if is_named() => Precision::Type,
            (Parameters::Utf8, _) if is_named() => Precision::Parameters,
            _ => Precision::None,
        };
        match precision {
            Precision::None => Weight::default(),
            precision => Weight { precision, weight: self.weight },
        }
    }
}

/// Parses a weight (section 12.4.2).
pub(super) fn thousandths(text: &str) -> Option<u16> {
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
