-- Tables with secrets, which rules hide or mask: `salary` is hidden, and `customer.email` and `customer.phone` are masked.
-- Each secret value contains the text `S3CRET`.

CREATE TABLE customer (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL,
    email TEXT UNIQUE CHECK (email <> ''),
    phone TEXT,
    shout TEXT GENERATED ALWAYS AS (upper(email)) VIRTUAL
);
CREATE TABLE salary (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER REFERENCES customer (id) ON DELETE CASCADE,
    amount      TEXT NOT NULL
);
CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER REFERENCES customer (id),
    salary_id   INTEGER REFERENCES salary (id),
    total       REAL,
    note        TEXT
);
CREATE TABLE plain (id INTEGER PRIMARY KEY, a TEXT, salary TEXT, email TEXT);

CREATE INDEX salary_amount ON salary (amount);
CREATE TRIGGER orders_paid AFTER UPDATE ON orders
BEGIN INSERT INTO salary (customer_id, amount) VALUES (new.customer_id, 'S3CRET'); END;

CREATE VIEW pay AS SELECT amount FROM salary;
CREATE VIEW nested_pay AS SELECT * FROM pay;
CREATE VIEW contact AS SELECT id, email FROM customer;
CREATE VIEW names AS SELECT id, name FROM customer;
CREATE VIEW totals AS SELECT total FROM orders;

CREATE VIRTUAL TABLE notes USING fts5(body);
CREATE VIRTUAL TABLE salary_text USING fts5(amount);
CREATE VIRTUAL TABLE contacts USING fts5(email, content = 'customer', content_rowid = 'id');

INSERT INTO customer (id, name, email, phone) VALUES
    (1, 'Ada', 'ada-S3CRET@example.org', '+44 20 S3CRET 1815'),
    (2, 'Ben', 'ben-S3CRET@example.org', NULL);
INSERT INTO salary VALUES (1, 1, 'S3CRET-9000'), (2, 2, 'S3CRET-100');
INSERT INTO orders VALUES (1, 1, 1, 10.5, 'first'), (2, 2, NULL, 20.0, NULL);
INSERT INTO plain VALUES (1, 'x', 'low', 'none');
INSERT INTO notes VALUES ('a note');
INSERT INTO salary_text VALUES ('S3CRET words');
INSERT INTO contacts(contacts) VALUES ('rebuild');
ANALYZE;
