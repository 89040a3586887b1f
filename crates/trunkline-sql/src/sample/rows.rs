use rusqlite::{Connection, ToSql, params};
use tpchgen::decimal::TPCHDecimal;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

/// The size of the text that comments are taken from. The specification's pool has 300 MB and takes seconds to
/// generate; with this one, only comments differ from the specification.
const TEXT_POOL_BYTES: i32 = 1 << 20;

/// Inserts the rows of all tables.
pub(super) fn insert(connection: &Connection, scale: f64) -> rusqlite::Result<()> {
    let words = Distributions::static_default();
    let texts = TextPool::new(TEXT_POOL_BYTES, words);

    // Each table has different columns.
    let mut region = Insert::into(connection, "region", 3)?;
    for r in RegionGenerator::new_with_distributions_and_text_pool(words, &texts).iter() {
        region.row(params![r.r_regionkey, r.r_name, r.r_comment])?;
    }
    let mut nation = Insert::into(connection, "nation", 4)?;
    for n in NationGenerator::new_with_distributions_and_text_pool(words, &texts).iter() {
        nation.row(params![n.n_nationkey, n.n_name, n.n_regionkey, n.n_comment])?;
    }
    let mut part = Insert::into(connection, "part", 9)?;
    for p in PartGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, &texts).iter()
    {
        part.row(params![
            p.p_partkey,
            p.p_name.to_string(),
            p.p_mfgr.to_string(),
            p.p_brand.to_string(),
            p.p_type,
            p.p_size,
            p.p_container,
            real(p.p_retailprice),
            p.p_comment,
        ])?;
    }
    let mut supplier = Insert::into(connection, "supplier", 7)?;
    for s in
        SupplierGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, &texts).iter()
    {
        supplier.row(params![
            s.s_suppkey,
            s.s_name.to_string(),
            s.s_address.to_string(),
            s.s_nationkey,
            s.s_phone.to_string(),
            real(s.s_acctbal),
            s.s_comment,
        ])?;
    }
    let mut partsupp = Insert::into(connection, "partsupp", 5)?;
    for ps in PartSuppGenerator::new_with_text_pool(scale, 1, 1, &texts).iter() {
        partsupp.row(params![
            ps.ps_partkey,
            ps.ps_suppkey,
            ps.ps_availqty,
            real(ps.ps_supplycost),
            ps.ps_comment,
        ])?;
    }
    let mut customer = Insert::into(connection, "customer", 8)?;
    for c in
        CustomerGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, &texts).iter()
    {
        customer.row(params![
            c.c_custkey,
            c.c_name.to_string(),
            c.c_address.to_string(),
            c.c_nationkey,
            c.c_phone.to_string(),
            real(c.c_acctbal),
            c.c_mktsegment,
            c.c_comment,
        ])?;
    }
    let mut orders = Insert::into(connection, "orders", 9)?;
    for o in OrderGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, &texts).iter()
    {
        orders.row(params![
            o.o_orderkey,
            o.o_custkey,
            o.o_orderstatus.to_string(),
            real(o.o_totalprice),
            o.o_orderdate.to_string(),
            o.o_orderpriority,
            o.o_clerk.to_string(),
            o.o_shippriority,
            o.o_comment,
        ])?;
    }
    let mut lineitem = Insert::into(connection, "lineitem", 16)?;
    for l in
        LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, &texts).iter()
    {
        lineitem.row(params![
            l.l_orderkey,
            l.l_partkey,
            l.l_suppkey,
            l.l_linenumber,
            l.l_quantity,
            real(l.l_extendedprice),
            real(l.l_discount),
            real(l.l_tax),
            l.l_returnflag,
            l.l_linestatus,
            l.l_shipdate.to_string(),
            l.l_commitdate.to_string(),
            l.l_receiptdate.to_string(),
            l.l_shipinstruct,
            l.l_shipmode,
            l.l_comment,
        ])?;
    }
    Ok(())
}

/// The generator counts in hundredths.
fn real(decimal: TPCHDecimal) -> f64 {
    decimal.0 as f64 / 100.0
}

/// Inserts rows into one table. Below scale 0.008, the specification assigns some parts the same supplier twice. These
/// rows of `partsupp` are omitted by `OR IGNORE`; no other table has conflicts.
struct Insert<'c>(rusqlite::Statement<'c>);

impl<'c> Insert<'c> {
    fn into(connection: &'c Connection, table: &str, columns: usize) -> rusqlite::Result<Self> {
        let marks = vec!["?"; columns].join(", ");
        let sql = format!("INSERT OR IGNORE INTO {table} VALUES ({marks})");
        Ok(Self(connection.prepare(&sql)?))
    }

    fn row(&mut self, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        self.0.execute(values).map(drop)
    }
}
