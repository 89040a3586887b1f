-- As `visibility.sql`, in PostgreSQL. Each secret value contains the text `S3CRET`.

CREATE TABLE customer (
    id    int PRIMARY KEY,
    name  text NOT NULL,
    email text UNIQUE CHECK (email <> ''),
    phone text,
    shout text GENERATED ALWAYS AS (upper(email)) STORED
);
CREATE TABLE salary (
    id          int PRIMARY KEY,
    customer_id int REFERENCES customer (id) ON DELETE CASCADE,
    amount      text NOT NULL
);
CREATE TABLE orders (
    id          int PRIMARY KEY,
    customer_id int REFERENCES customer (id),
    salary_id   int REFERENCES salary (id) DEFERRABLE INITIALLY DEFERRED,
    total       numeric,
    note        text
);
CREATE TABLE plain (id int PRIMARY KEY, a text, salary text, email text);
CREATE TABLE "Salary" (id int PRIMARY KEY, amount text);

CREATE SCHEMA hr;
CREATE TABLE hr.salary (id int PRIMARY KEY, amount text);
CREATE TABLE hr.staff (id int PRIMARY KEY, name text);

CREATE TABLE events (id int, kind text, email text) PARTITION BY LIST (kind);
CREATE TABLE events_open PARTITION OF events FOR VALUES IN ('open');
CREATE TABLE events_secret PARTITION OF events FOR VALUES IN ('secret');
CREATE TABLE person (id int PRIMARY KEY, email text);
CREATE TABLE employee (room text) INHERITS (person);
CREATE TABLE log_all (id int) PARTITION BY LIST (id);
CREATE TABLE log_1 PARTITION OF log_all FOR VALUES IN (1);

CREATE VIEW pay AS SELECT amount FROM salary;
CREATE VIEW nested_pay AS SELECT * FROM pay;
CREATE VIEW contact AS SELECT id, email FROM customer;
CREATE VIEW names AS SELECT id, name FROM customer;
CREATE VIEW totals AS SELECT total FROM orders;
CREATE VIEW samples AS SELECT tablename, attname, most_common_vals::text FROM pg_stats;
CREATE MATERIALIZED VIEW paid AS SELECT amount FROM salary;

CREATE FUNCTION salary_of(int) RETURNS text LANGUAGE sql STABLE
AS 'SELECT amount FROM salary WHERE id = $1';
CREATE FUNCTION all_salaries() RETURNS SETOF salary LANGUAGE sql STABLE AS 'SELECT * FROM salary';
CREATE FUNCTION email_of(customer) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1.email';
CREATE FUNCTION boss_pay() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT amount FROM salary WHERE id = 1';

-- A function with the name of a visible view.
CREATE FUNCTION totals(int) RETURNS text LANGUAGE sql STABLE AS 'SELECT amount FROM salary WHERE id = $1';

CREATE VIEW paid_by_code AS SELECT salary_of(1) AS amount;
CREATE FUNCTION keep(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT max(amount) FROM salary); END';
CREATE AGGREGATE kept(text) (SFUNC = keep, STYPE = text);
CREATE FUNCTION checked(text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN EXISTS (SELECT FROM salary); END';
CREATE DOMAIN checked_text AS text CHECK (checked(VALUE));
CREATE VIEW of_class AS SELECT relname::text FROM pg_class;
CREATE VIEW of_statistic AS SELECT stavalues1::text FROM pg_statistic;
CREATE VIEW of_xml AS SELECT query_to_xml('SELECT * FROM public.salary', true, true, '')::text AS a;
CREATE VIEW of_stat AS SELECT word FROM ts_stat('SELECT to_tsvector(amount) FROM public.salary');
CREATE VIEW of_aggregate AS SELECT kept(note) AS a FROM orders;
CREATE VIEW of_domain AS SELECT note::checked_text FROM orders;
CREATE VIEW of_privilege AS SELECT has_table_privilege('salary', 'SELECT') AS a;
CREATE VIEW of_types AS SELECT total::int::oid::regclass::text AS a FROM orders;
CREATE VIEW of_keywords AS SELECT pg_get_viewdef('public.pay'::regclass) AS a;
CREATE VIEW of_subquery AS SELECT id, (SELECT count(*) FROM pg_class) AS a FROM orders;
CREATE VIEW over_class AS SELECT * FROM of_class;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE VIEW ordinary AS
SELECT c.id, c.salary || 'x' AS a, lower(c.a) AS b, now() AS at, coalesce(c.a, '-') AS d,
       date_trunc('day', timestamp '2020-01-02') AS day, 'good'::mood AS mood, to_tsvector('english', c.a) AS words,
       sum(o.total) OVER (ORDER BY o.id) AS s, c.id = ANY (ARRAY[1, 2]) AS e,
       c.id::bigint + 1 AS big
FROM plain c LEFT JOIN orders o ON o.id = c.id WHERE o.note LIKE '%' OR c.id BETWEEN 1 AND 9;
CREATE VIEW grouped AS SELECT id, a, count(*) AS n, max(a) AS m FROM plain GROUP BY id;

CREATE TABLE wallets (id int PRIMARY KEY, pay salary, pays salary[]);
CREATE TABLE named (id int PRIMARY KEY, what regclass);
CREATE DOMAIN rule_name AS regclass;
CREATE TABLE named_indirectly (id int PRIMARY KEY, what rule_name[]);
INSERT INTO wallets VALUES (1, ROW(1, 1, 'S3CRET-9000'));

CREATE OPERATOR <<< (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int);

INSERT INTO customer (id, name, email, phone) VALUES
    (1, 'Ada', 'ada-S3CRET@example.org', '+44 20 S3CRET 1815'),
    (2, 'Ben', 'ben-S3CRET@example.org', NULL);
INSERT INTO salary VALUES (1, 1, 'S3CRET-9000'), (2, 2, 'S3CRET-100');
INSERT INTO "Salary" VALUES (1, 'S3CRET-1');
INSERT INTO hr.salary VALUES (1, 'S3CRET-2');
INSERT INTO hr.staff VALUES (1, 'Cyd');
INSERT INTO orders VALUES (1, 1, 1, 10.5, 'first'), (2, 2, NULL, 20.0, NULL);
INSERT INTO plain VALUES (1, 'x', 'low', 'none');
INSERT INTO events VALUES (1, 'open', 'open'), (2, 'secret', 'S3CRET');
INSERT INTO person VALUES (1, 'S3CRET');
INSERT INTO employee VALUES (2, 'S3CRET', 'A1');
INSERT INTO log_all VALUES (1);
REFRESH MATERIALIZED VIEW paid;
ANALYZE;
