//! Generator of mostly valid documents, with one function per production of EDN.

use crate::random::Random;

/// A document of one form.
pub(crate) fn document(random: &mut Random) -> String {
    let mut grammar = Grammar { random, out: String::new() };
    if grammar.random.percent(30) {
        grammar.space();
    }
    let depth = grammar.random.below(5);
    grammar.form(depth);
    if grammar.random.percent(30) {
        grammar.gap();
    }
    grammar.out
}

struct Grammar<'r> {
    random: &'r mut Random,
    out: String,
}

impl Grammar<'_> {
    /// A form of at most `depth` levels.
    fn form(&mut self, depth: usize) {
        if depth == 0 {
            return self.atom();
        }
        match self.random.below(14) {
            0 | 1 => self.sequence("(", ')', depth),
            2..=4 => self.sequence("[", ']', depth),
            5 => self.sequence("#{", '}', depth),
            6..=9 => self.map(depth),
            10 => self.namespaced_map(depth),
            11 => self.tagged(depth),
            12 => self.with_metadata(depth),
            _ => self.atom(),
        }
    }

    fn atom(&mut self) {
        match self.random.below(16) {
            0 => self.push(&["nil", "true", "false"]),
            1..=3 => self.integer(),
            4 => self.float(),
            5 => self.decimal(),
            6 => self.ratio(),
            7 => self.character(),
            8 | 9 => self.string(),
            10 | 11 => self.symbol(),
            12 | 13 => {
                self.out.push(':');
                self.name();
            }
            14 => self.inst(),
            _ => self.uuid(),
        }
    }

    fn push(&mut self, choices: &[&str]) {
        let chosen = self.random.of(choices);
        self.out.push_str(chosen);
    }

    // Numbers

    fn sign(&mut self) {
        self.push(&["", "", "", "-", "+"]);
    }

    fn integer(&mut self) {
        if self.random.percent(10) {
            return self.push(&[
                "0",
                "-0",
                "+0N",
                "00",
                "0x0",
                "9223372036854775807",
                "9223372036854775808",
                "-9223372036854775808",
                "-9223372036854775809",
                "0x7fffffffffffffff",
                "0x8000000000000000",
                "-0x8000000000000000",
                "0777777777777777777777",
                "01000000000000000000000",
                "-01000000000000000000000",
            ]);
        }
        self.sign();
        match self.random.below(8) {
            0 => {
                self.out.push('0');
                self.out += &self.random.digits(1, 24, 8);
            }
            1 => {
                self.push(&["0x", "0X"]);
                let digits = self.random.digits(1, 20, 16);
                let upper = self.random.percent(50);
                self.out += &if upper { digits.to_uppercase() } else { digits };
            }
            2 => {
                let radix = 2 + self.random.below(35) as u32;
                let r = self.random.of(&['r', 'R']);
                let digits = self.random.digits(1, 20, radix);
                // No `N` after these, since it would be another digit.
                self.out += &format!("{radix}{r}{digits}");
                return;
            }
            _ => self.decimal_digits(22),
        }
        self.push(&["", "", "N"]);
    }

    /// At most `most` digits, without leading zeros.
    fn decimal_digits(&mut self, most: usize) {
        let most = if self.random.percent(70) { 3 } else { most };
        let digits = self.random.digits(1, most, 10);
        let significant = digits.trim_start_matches('0');
        self.out += if significant.is_empty() { "0" } else { significant };
    }

    fn float(&mut self) {
        if self.random.percent(20) {
            let float = f64::from_bits(self.random.bits());
            if float.is_finite() {
                self.out += &format!("{float:e}");
                return;
            }
        }
        if self.random.percent(15) {
            return self.push(&[
                "##Inf",
                "##-Inf",
                "##NaN",
                "-0.0",
                "5e-324",
                "2.4703282292062327e-324",
                "2.2250738585072011e-308",
                "1.7976931348623157e308",
                "1e400",
                "-1e400",
                "1e-400",
                "9007199254740993.0",
                "0.1e-6",
            ]);
        }
        self.sign();
        self.decimal_digits(20);
        let has_point = self.random.percent(70);
        if has_point {
            self.out.push('.');
            self.out += &self.random.digits(0, 18, 10);
        }
        if !has_point || self.random.percent(30) {
            self.exponent(340);
        }
    }

    fn exponent(&mut self, end: usize) {
        let exponent = self.random.below(end);
        let (e, sign) = (self.random.of(&['e', 'E']), self.random.of(&["", "-", "+"]));
        self.out += &format!("{e}{sign}{exponent}");
    }

    fn decimal(&mut self) {
        self.sign();
        self.decimal_digits(30);
        if self.random.percent(60) {
            self.out.push('.');
            self.out += &self.random.digits(0, 20, 10);
        }
        if self.random.percent(25) {
            self.exponent(40);
        }
        self.out.push('M');
    }

    fn ratio(&mut self) {
        self.sign();
        self.decimal_digits(40);
        self.out.push('/');
        self.decimal_digits(40);
    }

    // Text

    /// A character that needs no escape in a string.
    fn character_of_text(&mut self) -> char {
        match self.random.below(12) {
            0 => self.random.of(&['é', 'ß', 'λ', '猫', '\u{a0}', '\u{feff}', '\u{2028}', '￿']),
            1 => self.random.of(&['😀', '𝒳', '\u{10ffff}']),
            2 => self.random.of(&['\n', '\r', '\t', '\0', '\u{1f}', '\u{7f}', '\u{85}']),
            3 => self.random.of(&[';', ',', ' ', '#', '(', '}', '\'', '/', '@']),
            _ => char::from(b'a' + self.random.below(26) as u8),
        }
    }

    fn string(&mut self) {
        self.out.push('"');
        for _ in 0..self.random.below(8) {
            if self.random.percent(80) {
                let c = self.character_of_text();
                self.out.push(c);
                continue;
            }
            match self.random.below(4) {
                0 => self.unicode_escape(),
                1 => {
                    self.out.push('\\');
                    self.push(&["0", "7", "00", "101", "377", "033"]);
                    // Digits after it would be part of the escape.
                    self.out.push(' ');
                }
                2 => self.push(&["\\ud83d\\ude00", "\\uD834\\uDD1E"]),
                _ => self.push(&["\\n", "\\t", "\\r", "\\b", "\\f", "\\\"", "\\\\"]),
            }
        }
        self.out.push('"');
    }

    /// An escape other than a surrogate.
    fn unicode_escape(&mut self) {
        let unit = self.random.of(&[0, 0x22, 0x5c, 0xe9, 0x3a9, 0xd7ff, 0xe000, 0xffff]);
        self.out += &format!("\\u{unit:04x}");
    }

    fn character(&mut self) {
        self.out.push('\\');
        match self.random.below(6) {
            0 => self.push(&["newline", "space", "tab", "return", "backspace", "formfeed"]),
            1 => {
                self.out.pop();
                self.unicode_escape();
            }
            2 => self.push(&["o0", "o7", "o40", "o101", "o377"]),
            3 => self.push(&["(", ")", "[", "]", "{", "}", "\"", ";", ",", "\\", "#", "^", "@"]),
            4 => self.push(&["u", "o", "é", "猫", "'", "/", ":", "0", "\u{2028}"]),
            _ => {
                let letter = char::from(b'a' + self.random.below(26) as u8);
                self.out.push(letter);
            }
        }
    }

    fn symbol(&mut self) {
        if self.random.percent(15) {
            return self
                .push(&["+", "-", "/", ".", "...", "-a", ".b", "+.", "a#", "a'", "%1", "&"]);
        }
        self.name();
    }

    /// The text of a symbol, or of a keyword after its colon.
    fn name(&mut self) {
        if self.random.percent(30) {
            self.part();
            self.out.push('/');
        }
        self.part();
    }

    fn part(&mut self) {
        self.push(&[
            "a", "b", "c", "key", "x-y", "é", "猫", "_", "*s*", "io.b", "<=", "ok?", "go!", "$",
        ]);
        if self.random.percent(25) {
            self.push(&["1", "#", "'", ":z", "=", "&", "%", "|", "0x1", "😀", ".q"]);
        }
    }

    // Tags

    fn inst(&mut self) {
        // Clojure uses another calendar before 1583, so few such years are generated.
        let year = match self.random.below(40) {
            0 => self.random.below(1583),
            1 => self.random.of(&[1583, 1600, 1900, 1969, 1970, 2000, 9999]),
            _ => 1600 + self.random.below(500),
        };
        self.out += &format!("#inst {}\"{year:04}", self.random.of(&["", " ", "\n"]));
        let length = self.random.below(7);
        let (month, day) = (1 + self.random.below(12), 1 + self.random.below(29));
        let (hour, minute) = (self.random.below(24), self.random.below(60));
        let second = self.random.below(61);
        let parts = [
            format!("-{month:02}"),
            format!("-{day:02}"),
            format!("T{hour:02}"),
            format!(":{minute:02}"),
            format!(":{second:02}"),
            format!(".{}", self.random.digits(1, 12, 10)),
        ];
        self.out.extend(parts.into_iter().take(length));
        match self.random.below(3) {
            0 => {}
            1 => self.out.push('Z'),
            _ => {
                let (sign, hour) = (self.random.of(&['-', '+']), self.random.below(24));
                self.out += &format!("{sign}{hour:02}:{minute:02}");
            }
        }
        self.out.push('"');
    }

    fn uuid(&mut self) {
        let mut group = |count| self.random.digits(count, count, 16);
        let groups = [group(8), group(4), group(4), group(4), group(12)];
        let text = groups.join("-");
        let text = if self.random.percent(30) { text.to_uppercase() } else { text };
        self.out += &format!("#uuid \"{text}\"");
    }

    fn tagged(&mut self, depth: usize) {
        self.push(&["#my/tag", "#t", "#é", "#a.b/c", "#object", "#a#b"]);
        self.space();
        self.form(depth - 1);
    }

    // Collections

    fn sequence(&mut self, open: &str, close: char, depth: usize) {
        self.out += open;
        self.separated(depth);
        self.out.push(close);
    }

    /// Forms separated by space, and possibly surrounded by it.
    fn separated(&mut self, depth: usize) {
        for at in 0..self.random.below(6) {
            if at > 0 || self.random.percent(10) {
                self.gap();
            }
            self.form(depth - 1);
        }
        if self.random.percent(20) {
            self.gap();
        }
    }

    fn map(&mut self, depth: usize) {
        self.out.push('{');
        // Clojure uses another type of map for more than eight entries.
        let count = if self.random.percent(5) { 12 } else { self.random.below(4) };
        for _ in 0..count {
            if self.random.percent(60) {
                self.key();
            } else {
                self.form(depth - 1);
            }
            self.gap();
            self.form(depth - 1);
            self.gap();
        }
        self.out.push('}');
    }

    /// A key, mostly distinct from the others.
    fn key(&mut self) {
        let number = self.random.below(1_000);
        match self.random.below(5) {
            0 => self.out += &format!("\"{number}\""),
            1 => self.out += &format!("k{number}"),
            2 => self.out += &format!("{number}"),
            3 => self.out += &format!(":n{}/k{number}", number % 3),
            _ => self.out += &format!(":k{number}"),
        }
    }

    fn namespaced_map(&mut self, depth: usize) {
        self.push(&["#:a", "#:a.b", "#:é", "#: a", "#:a "]);
        self.map(depth);
    }

    fn with_metadata(&mut self, depth: usize) {
        self.push(&["^", "#^"]);
        self.push(&[":a", "a", "\"a\"", "{:a 1}", "{}"]);
        self.space();
        match self.random.below(4) {
            0 => self.symbol(),
            1 => self.map(depth),
            2 => self.sequence("(", ')', depth),
            _ => self.sequence("[", ']', depth),
        }
    }

    // Space

    fn space(&mut self) {
        self.push(&[" ", " ", " ", ",", "\n", "\r\n", "\t", " ; c\n", ";\r", "\u{2003}", "\u{1c}"]);
    }

    /// Space that may contain discarded forms.
    fn gap(&mut self) {
        self.space();
        if self.random.percent(4) {
            self.push(&["#_", "#_ ", "#_ #_ 1 "]);
            let depth = self.random.below(2);
            self.form(depth);
            self.space();
        }
    }
}
