use rusqlite::ErrorCode;

use super::Error;

/// SQLite's result codes, sorted by who can do something about them. The messages of the kept codes come
/// from SQLite's compiler and functions, which know nothing of files.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let (code, message, offset) = match &error {
            rusqlite::Error::SqliteFailure(cause, message) => (cause.code, message.clone(), None),
            rusqlite::Error::SqlInputError { error: cause, msg, offset, .. } => {
                (cause.code, Some(msg.clone()), usize::try_from(*offset).ok())
            }
            _ => return Self::Failure(error),
        };
        let message = bounded(message.unwrap_or_else(|| "no message".to_owned()));
        match code {
            // The authorizer's refusal of a function is an ordinary error.
            ErrorCode::Unknown if message.starts_with("not authorized") => {
                Self::Forbidden { reason: message }
            }
            // SQLITE_ERROR, which rusqlite calls unknown: the SQL is wrong.
            ErrorCode::Unknown if is_limit(&message) => Self::OverLimit { message },
            ErrorCode::Unknown | ErrorCode::TypeMismatch => Self::Sql { message, offset },
            ErrorCode::ConstraintViolation => constraint(message),
            ErrorCode::AuthorizationForStatementDenied => Self::Forbidden {
                reason: "it does something else than reading tables or describing them".to_owned(),
            },
            ErrorCode::ReadOnly => {
                Self::Forbidden { reason: "it can change the database".to_owned() }
            }
            ErrorCode::TooBig => Self::OverLimit { message },
            ErrorCode::OutOfMemory => Self::OutOfMemory,
            // Which of deadline and cancellation it was, the reader knows.
            ErrorCode::OperationInterrupted => Self::Cancelled,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked,
            _ => Self::Failure(error),
        }
    }
}

/// A function or a trigger may put a value of any size into its message.
fn bounded(mut message: String) -> String {
    const ENOUGH: usize = 1_000;
    if let Some((end, _)) = message.char_indices().nth(ENOUGH) {
        message.truncate(end);
        message.push('…');
    }
    message
}

/// "UNIQUE constraint failed: emp.name": the places are not quoted, so a name that holds a dot or a comma
/// is not taken apart. The message of a trigger may be anything.
fn constraint(message: String) -> Error {
    let places = ["UNIQUE constraint failed: ", "NOT NULL constraint failed: "]
        .iter()
        .find_map(|kind| message.strip_prefix(kind))
        .unwrap_or_default();
    let (mut table, mut column) = (None, None);
    for (index, place) in places.split(", ").enumerate() {
        match place.split_once('.') {
            Some((first, second)) if !second.contains('.') => {
                table = Some(first.to_owned());
                column = Some(second.to_owned()).filter(|_| index == 0);
            }
            _ => (table, column) = (None, None),
        }
    }
    Error::Constraint { message, table, column }
}

/// SQLite reports most of its limits as plain errors.
fn is_limit(message: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "too many columns",
        "too many FROM clause terms",
        "too many SQL variables",
        "too many terms",
        "Expression tree is too large",
        "LIKE or GLOB pattern too complex",
        "parser stack overflow",
        "Recursion limit",
    ];
    // Names that callers chose may stand behind them.
    SIGNS.iter().any(|sign| message.starts_with(sign))
}
