//! The known differences from Clojure.

use std::fmt;

use trunkline_edn::{Error, Inst, Reason, Value};

use crate::case::{Case, Disagreement};
use crate::notation::has_inst;
use crate::oracle::Answer;

struct Difference {
    why: &'static str,
    /// Whether this explains the difference of a case.
    explains: fn(&Case, &Disagreement) -> bool,
    /// The maximum number of documents that it may explain, per thousand.
    most: usize,
}

const KNOWN: [Difference; 10] = [
    Difference {
        why: "Java accepts UUIDs with fewer digits, and drops excess digits",
        explains: |case, how| {
            matches!((how, reason(case)), (Disagreement::Refused, Some(Reason::Uuid { .. })))
        },
        most: 10,
    },
    Difference {
        why: "Clojure accepts lone surrogates",
        explains: |case, how| {
            matches!((how, reason(case)), (Disagreement::Refused, Some(Reason::LoneSurrogate)))
        },
        most: 5,
    },
    Difference {
        why: "instants are limited to the years 0000 to 9999 in UTC",
        explains: |case, how| {
            let is_edge = case.document.contains("\"0000") || case.document.contains("\"9999");
            let is_inst = matches!(reason(case), Some(Reason::Inst { .. }));
            matches!(how, Disagreement::Refused) && is_inst && is_edge
        },
        most: 5,
    },
    Difference {
        why: "tags are ignored in discarded forms",
        explains: |case, how| match how {
            Disagreement::Accepted(why) => {
                case.document.contains("#_")
                    && (why.contains(" #inst: ") || why.contains(" #uuid: "))
            }
            _ => false,
        },
        most: 5,
    },
    Difference {
        why: "Java accepts digits of all scripts in escapes",
        explains: |case, how| match reason(case) {
            Some(Reason::Escape { text } | Reason::Character { text }) => {
                matches!(how, Disagreement::Refused) && (!text.is_ascii() || &**text == "u")
            }
            _ => false,
        },
        most: 5,
    },
    Difference {
        why: "the exponent of a decimal has 32 bits in normal notation, too",
        explains: |case, how| {
            matches!((how, reason(case)), (Disagreement::Refused, Some(Reason::Exponent { .. })))
        },
        most: 2,
    },
    Difference {
        why: "only white space is allowed between `#:` and the namespace",
        explains: |case, how| {
            let is_namespace = matches!(reason(case), Some(Reason::NamespacedMap));
            matches!(how, Disagreement::Refused) && is_namespace
        },
        most: 5,
    },
    Difference {
        why: "keys of namespaced maps must be valid with their namespace",
        explains: |case, how| {
            let is_key =
                matches!(reason(case), Some(Reason::Keyword { .. } | Reason::Symbol { .. }));
            matches!(how, Disagreement::Refused) && is_key && case.document.contains("#:")
        },
        most: 5,
    },
    Difference {
        why: "Clojure uses the Julian calendar for dates before 1583",
        explains: |case, how| {
            matches!(how, Disagreement::Value | Disagreement::Written) && has(case, is_julian)
        },
        most: 15,
    },
    Difference {
        why: "Clojure truncates instants to milliseconds, which can make keys duplicates",
        explains: |case, how| match how {
            Disagreement::Accepted(why) => why.contains("Duplicate key") && has(case, is_fine),
            _ => false,
        },
        most: 2,
    },
];

/// The first second of 1583, after the change of the calendar.
const GREGORIAN: i64 = -12_212_553_600;

fn is_julian(inst: Inst) -> bool {
    inst.seconds() < GREGORIAN
}

fn is_fine(inst: Inst) -> bool {
    !inst.nanos().is_multiple_of(1_000_000)
}

fn has(case: &Case, predicate: fn(Inst) -> bool) -> bool {
    case.ours.as_ref().is_ok_and(|value: &Value| has_inst(value, predicate))
}

fn reason(case: &Case) -> Option<&Reason> {
    case.ours.as_ref().err().map(Error::reason)
}

/// The results of all comparisons.
#[derive(Default)]
pub(crate) struct Tally {
    /// The number of documents that both accept.
    pub(crate) forms: usize,
    /// The number of documents that both reject.
    pub(crate) refusals: usize,
    /// The number of documents that each known difference explains.
    explained: [usize; KNOWN.len()],
}

impl Tally {
    /// Compares a case and counts the result. Fails if no known difference explains it.
    pub(crate) fn count(&mut self, case: &Case, theirs: &[Answer]) -> Result<(), Disagreement> {
        match case.compare(theirs) {
            Ok(()) if case.ours.is_ok() => self.forms += 1,
            Ok(()) => self.refusals += 1,
            Err(how) => match KNOWN.iter().position(|known| (known.explains)(case, &how)) {
                Some(at) => self.explained[at] += 1,
                None => return Err(how),
            },
        }
        Ok(())
    }

    /// The differences that explain more cases than expected.
    pub(crate) fn excessive(&self) -> Vec<&'static str> {
        let all = self.forms + self.refusals + self.explained.iter().sum::<usize>();
        self.differences(|known, count| count * 1_000 > known.most * all)
    }

    /// The differences that explain no case.
    pub(crate) fn unseen(&self) -> Vec<&'static str> {
        self.differences(|_, count| count == 0)
    }

    fn differences(&self, is_included: impl Fn(&Difference, usize) -> bool) -> Vec<&'static str> {
        let explained = KNOWN.iter().zip(self.explained);
        let included = explained.filter(|(known, count)| is_included(known, *count));
        included.map(|(known, _)| known.why).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forms, refusals, explained } = self;
        write!(f, "both accept {forms} and reject {refusals}; known differences:")?;
        for (known, count) in KNOWN.iter().zip(explained) {
            write!(f, "\n  {count:>4}  {}", known.why)?;
        }
        Ok(())
    }
}
