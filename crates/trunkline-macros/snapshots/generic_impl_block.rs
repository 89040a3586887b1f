#[rpc]
impl<D, S> Search<D, S>
where
    D: Database,
{
    async fn find(&self, query: String) -> Result<Vec<Row>, DatabaseError> {
        self.database.find(query).await
    }
}
