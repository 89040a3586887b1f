//! Deterministic records of a service, as EDN and as JSON.

use std::fmt::Write as _;

pub(crate) struct Data {
    pub(crate) edn: String,
    pub(crate) json: String,
}

const NAMES: [&str; 8] = [
    "Ada Lovelace",
    "Grace Hopper",
    "Zoë Krüger",
    "José Núñez",
    "Edsger Dijkstra",
    "北川 由美",
    "Barbara Liskov",
    "Łukasz Wójcik",
];
const CITIES: [&str; 6] = ["Zürich", "Oslo", "São Paulo", "San Francisco", "Köln", "大阪"];
const TAGS: [&str; 6] = ["vip", "newsletter", "eu", "wholesale", "trial", "late-payer"];
const STATES: [&str; 4] = ["order.state/open", "order.state/paid", "order.state/sent", "returned"];
const NOTES: [&str; 5] = [
    "Called about the delivery; requests the side entrance, between nine and noon.",
    "Note: \"no substitutes\".\nThe second line of the notes.",
    "Path C:\\orders\\2024\tchecked",
    "Größe passt nicht, Umtausch gegen die nächste Größe vereinbart.",
    "Nothing open.",
];

impl Data {
    /// Generates at least this number of bytes of EDN.
    pub(crate) fn generate(bytes: usize) -> Self {
        let mut writer = Writer { edn: String::new(), json: String::new(), begins: true };
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        writer.open("[", "[");
        let mut id = 100_000;
        while writer.edn.len() < bytes {
            id += 1 + random.below(9);
            customer(&mut writer, &mut random, id);
        }
        writer.close("]", "]");
        Self { edn: writer.edn, json: writer.json }
    }
}

fn customer(writer: &mut Writer, random: &mut Random, id: u64) {
    writer.open("{", "{");
    writer.entry("customer/id").integer(id as i64);
    writer.entry("customer/name").string(random.one_of(&NAMES));
    writer.entry("email").string(&format!("customer.{id}@example.com"));
    writer.entry("active?").literal(if random.below(4) > 0 { "true" } else { "false" });
    writer.entry("balance").float(random);
    writer.entry("created-at").integer(1_700_000_000_000 + random.below(1 << 36) as i64);
    writer.entry("tags").open("[", "[");
    for _ in 0..random.below(4) {
        writer.keyword(random.one_of(&TAGS));
    }
    writer.close("]", "]");
    writer.entry("address").open("{", "{");
    writer.entry("street").string(&format!("{} Long Street", random.below(300)));
    writer.entry("city").string(random.one_of(&CITIES));
    writer.entry("geo").open("[", "[");
    writer.float(random);
    writer.float(random);
    writer.close("]", "]");
    writer.close("}", "}");
    writer.entry("orders").open("[", "[");
    for _ in 0..random.below(5) {
        order(writer, random);
    }
    writer.close("]", "]");
    writer.entry("note");
    match random.below(3) {
        0 => writer.literal("nil"),
        _ => writer.string(random.one_of(&NOTES)),
    }
    writer.close("}", "}");
}

fn order(writer: &mut Writer, random: &mut Random) {
    writer.open("{", "{");
    writer.entry("sku").string(&format!("A-{:05}", random.below(100_000)));
    writer.entry("quantity").integer(random.below(20) as i64 - 2);
    writer.entry("price").float(random);
    writer.entry("state").keyword(random.one_of(&STATES));
    writer.entry("gift?").literal(if random.below(8) > 0 { "false" } else { "true" });
    writer.close("}", "}");
}

/// Writes both formats.
struct Writer {
    edn: String,
    json: String,
    /// Whether the next part needs no separator.
    begins: bool,
}

impl Writer {
    fn both(&mut self, edn: &str, json: &str) {
        self.edn.push_str(edn);
        self.json.push_str(json);
    }

    /// Writes a separator.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begins, false) {
            self.both(" ", ",");
        }
    }

    fn open(&mut self, edn: &str, json: &str) {
        self.begin();
        self.both(edn, json);
        self.begins = true;
    }

    fn close(&mut self, edn: &str, json: &str) {
        self.both(edn, json);
        self.begins = false;
    }

    /// Writes a key, which a value must follow.
    fn entry(&mut self, key: &str) -> &mut Self {
        if !std::mem::replace(&mut self.begins, true) {
            self.both(", ", ",");
        }
        let _ = write!(self.edn, ":{key} ");
        let _ = write!(self.json, "\"{key}\":");
        self
    }

    fn keyword(&mut self, name: &str) {
        self.begin();
        let _ = write!(self.edn, ":{name}");
        let _ = write!(self.json, "\"{name}\"");
    }

    /// Writes a string, whose characters both formats escape in the same way.
    fn string(&mut self, text: &str) {
        self.begin();
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        let escaped = escaped.replace('\n', "\\n").replace('\t', "\\t");
        let quoted = format!("\"{escaped}\"");
        self.both(&quoted, &quoted);
    }

    fn integer(&mut self, integer: i64) {
        self.literal(&integer.to_string());
    }

    /// Writes a number with a fraction, since edn-format would write a whole one as an integer.
    fn float(&mut self, random: &mut Random) {
        let (whole, hundredths) = (random.below(2_000) as i64 - 180, 1 + random.below(9));
        self.literal(&format!("{whole}.{}{hundredths}", random.below(10)));
    }

    fn literal(&mut self, text: &str) {
        self.begin();
        self.both(text, if text == "nil" { "null" } else { text });
    }
}

/// Deterministic pseudo-random numbers (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.below(texts.len() as u64) as usize]
    }
}
