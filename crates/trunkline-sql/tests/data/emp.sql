-- The database of the integration tests: small, with the awkward cases of each feature.

CREATE TABLE dept (
    dept_no INTEGER PRIMARY KEY,
    title   TEXT NOT NULL
);

CREATE TABLE emp (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    salary   REAL DEFAULT 1000.0,
    city     VARCHAR(20),
    dept_no  INTEGER REFERENCES dept (dept_no) ON DELETE CASCADE,
    "delete" TEXT,
    initial  TEXT GENERATED ALWAYS AS (substr(name, 1, 1)) VIRTUAL
);

CREATE UNIQUE INDEX emp_name ON emp (name);
CREATE INDEX emp_rich ON emp (lower(city), salary) WHERE salary > 5000;
CREATE TRIGGER emp_touched AFTER UPDATE ON emp BEGIN SELECT 1; END;
CREATE VIEW rich AS SELECT id, name FROM emp WHERE salary > 2000;

CREATE TABLE "we""ird; DROP" ("a b" INTEGER, "x""y" TEXT);
CREATE TABLE pair (a INTEGER, b TEXT, c BLOB, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE extremes (v);
CREATE TABLE "desc, order" ("name desc" INTEGER, rowid TEXT);

CREATE VIRTUAL TABLE docs USING fts5(title, body);
CREATE VIRTUAL TABLE old_docs USING fts4(body);
CREATE VIRTUAL TABLE boxes USING rtree(id, min_x, max_x);

INSERT INTO dept VALUES (10, 'Sales'), (20, 'Research');
INSERT INTO emp (id, name, salary, city, dept_no, "delete") VALUES
    (1, 'Ada', 3000.0, 'London', 20, 'no'),
    (2, 'Ben', 1500.5, NULL, 10, NULL),
    (3, 'Cyd', 9000.0, 'Oslo', 10, NULL),
    (4, 'Dee', 2500.0, 'Oslo', 20, NULL),
    (5, 'Eve', NULL, 'Rome', NULL, NULL);
INSERT INTO "we""ird; DROP" VALUES (1, 'it''s');
INSERT INTO pair VALUES (1, 'x', x'00ff'), (2, 'x', NULL), (1, 'a', x'');
INSERT INTO extremes VALUES (9007199254740992), (9007199254740993), (-9223372036854775808),
    (9e999), (-9e999), (x'0001'), (CAST(x'ff' AS TEXT)), (NULL), ('');
INSERT INTO docs VALUES ('fox', 'the quick brown fox'), ('dog', 'a lazy dog');
INSERT INTO old_docs VALUES ('an old fox');
INSERT INTO boxes VALUES (1, 0, 10), (2, 20, 30);
