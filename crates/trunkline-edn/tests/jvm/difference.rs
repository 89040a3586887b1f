//! What is known to differ from Clojure, and why.

use std::fmt;

use trunkline_edn::{Error, Inst, Reason, Value};

use crate::case::{Case, Disagreement};
use crate::notation::has_inst;
use crate::oracle::Answer;

struct Difference {
    why: &'static str,
    /// Whether this is why a case differs.
    explains: fn(&Case, &Disagreement) -> bool,
    /// How many of a thousand documents it may explain.
    most: usize,
}

const KNOWN: [Difference; 10] = [
    Difference {
        why: "Java takes UUIDs with fewer digits, and drops digits over them",
        explains: |case, how| {
            matches!((how, reason(case)), (Disagreement::Refused, Some(Reason::Uuid { .. })))
        },
        most: 10,
    },
    Difference {
        why: "half of a surrogate pair is no Unicode text",
        explains: |case, how| {
            matches!((how, reason(case)), (Disagreement::Refused, Some(Reason::LoneSurrogate)))
        },
        most: 5,
    },
    Difference {
        why: "an instant is of the years 0000 to 9999 in UTC",
        explains: |case, how| {
            let is_edge = case.document.contains("\"0000") || case.document.contains("\"9999");
            let is_inst = matches!(reason(case), Some(Reason::Inst { .. }));
            matches!(how, Disagreement::Refused) && is_inst && is_edge
        },
        most: 5,
    },
    Difference {
        why: "no tag means anything in what is discarded",
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
        why: "Java takes the digits of all scripts for digits of escapes",
        explains: |case, how| match reason(case) {
            Some(Reason::Escape { text } | Reason::Character { text }) => {
                matches!(how, Disagreement::Refused) && (!text.is_ascii() || &**text == "u")
            }
            _ => false,
        },
        most: 5,
    },
    Difference {
        why: "a decimal's exponent has 32 bits in what is written, too: more is not read there",
        explains: |case, how| {
            matches!((how, reason(case)), (Disagreement::Refused, Some(Reason::Exponent { .. })))
        },
        most: 2,
    },
    Difference {
        why: "between `#:` and the namespace there is nothing but white space",
        explains: |case, how| {
            let is_namespace = matches!(reason(case), Some(Reason::NamespacedMap));
            matches!(how, Disagreement::Refused) && is_namespace
        },
        most: 5,
    },
    Difference {
        why: "keys that have their namespace from their map can be read without it",
        explains: |case, how| {
            let is_key =
                matches!(reason(case), Some(Reason::Keyword { .. } | Reason::Symbol { .. }));
            matches!(how, Disagreement::Refused) && is_key && case.document.contains("#:")
        },
        most: 5,
    },
    Difference {
        why: "dates before 1583 are of the Julian calendar there",
        explains: |case, how| {
            matches!(how, Disagreement::Value | Disagreement::Written) && has(case, is_julian)
        },
        most: 15,
    },
    Difference {
        why: "instants that differ below a millisecond are the same there, and so duplicate keys",
        explains: |case, how| match how {
            Disagreement::Accepted(why) => why.contains("Duplicate key") && has(case, is_fine),
            _ => false,
        },
        most: 2,
    },
];

/// The first second of 1583, when the calendar had changed for some months.
const GREGORIAN: i64 = -12_212_553_600;

fn is_julian(inst: Inst) -> bool {
    inst.seconds() < GREGORIAN
}

fn is_fine(inst: Inst) -> bool {
    !inst.nanos().is_multiple_of(1_000_000)
}

fn has(case: &Case, wanted: fn(Inst) -> bool) -> bool {
    case.ours.as_ref().is_ok_and(|value: &Value| has_inst(value, wanted))
}

fn reason(case: &Case) -> Option<&Reason> {
    case.ours.as_ref().err().map(Error::reason)
}

/// What came of comparing.
#[derive(Default)]
pub(crate) struct Tally {
    /// What both read.
    pub(crate) forms: usize,
    /// What both refuse.
    pub(crate) refusals: usize,
    /// What each known difference explains.
    explained: [usize; KNOWN.len()],
}

impl Tally {
    /// Compares a case, and counts what comes of it, unless nothing explains that.
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

    /// The differences that explain more than they may.
    pub(crate) fn excessive(&self) -> Vec<&'static str> {
        let all = self.forms + self.refusals + self.explained.iter().sum::<usize>();
        self.differences(|known, count| count * 1_000 > known.most * all)
    }

    /// The differences that explain nothing.
    pub(crate) fn unseen(&self) -> Vec<&'static str> {
        self.differences(|_, count| count == 0)
    }

    fn differences(&self, are_wanted: impl Fn(&Difference, usize) -> bool) -> Vec<&'static str> {
        let explained = KNOWN.iter().zip(self.explained);
        let wanted = explained.filter(|(known, count)| are_wanted(known, *count));
        wanted.map(|(known, _)| known.why).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forms, refusals, explained } = self;
        write!(f, "both read {forms} and refuse {refusals}; known differences:")?;
        for (known, count) in KNOWN.iter().zip(explained) {
            write!(f, "\n  {count:>4}  {}", known.why)?;
        }
        Ok(())
    }
}
