-- The database of the contract of both engines. `contract.sqlite.sql` has the same content.

CREATE TABLE dept (
    dept_no integer PRIMARY KEY,
    title   text NOT NULL
);

CREATE TABLE emp (
    id       integer PRIMARY KEY,
    name     text NOT NULL UNIQUE,
    salary   double precision DEFAULT 1000.0,
    city     varchar(20),
    dept_no  integer REFERENCES dept (dept_no) ON DELETE CASCADE,
    "delete" text,
    initial  text GENERATED ALWAYS AS (substr(name, 1, 1)) STORED
);

CREATE INDEX emp_rich ON emp (lower(city), salary) WHERE salary > 5000;
CREATE VIEW rich AS SELECT id, name FROM emp WHERE salary > 2000;
CREATE TABLE "we""ird; DROP" ("a b" integer, "x""y" text);
CREATE TABLE pair (a integer, b text, c bytea, PRIMARY KEY (b, a));
CREATE TABLE keyless (a integer, b text);

INSERT INTO dept VALUES (10, 'Sales'), (20, 'Research');
INSERT INTO emp (id, name, salary, city, dept_no, "delete") VALUES
    (1, 'Ada', 3000.0, 'London', 20, 'no'),
    (2, 'Ben', 1500.5, NULL, 10, NULL),
    (3, 'Cyd', 9000.0, 'Oslo', 10, NULL),
    (4, 'Dee', 2500.0, 'Oslo', 20, NULL),
    (5, 'Eve', NULL, 'Rome', NULL, NULL);
INSERT INTO "we""ird; DROP" VALUES (1, 'it''s');
INSERT INTO pair VALUES (1, 'x', '\x00ff'), (2, 'x', NULL), (1, 'a', '\x');
INSERT INTO keyless VALUES (1, 'x'), (2, 'y'), (3, 'z');
