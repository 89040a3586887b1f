#[rpc(namespace = "math")]
impl Calculator {
    /// Adds two numbers.
    ///
    /// The sum wraps around.
    pub async fn add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    #[rpc(name = "Divide")]
    fn divide(&self, dividend: f64, #[param(default = 1.0)] divisor: f64) -> Result<f64, MathError> {
        checked(dividend / divisor)
    }

    #[rpc(blocking)]
    fn factor(&self, number: u64) -> Vec<u64> {
        factors(number)
    }

    /// Forgets everything.
    #[notification]
    async fn clear(&self) {
        self.memory.lock().await.clear();
    }

    #[cfg(feature = "debug")]
    async fn dump(&self, #[extract] peer: Peer) -> String {
        format!("{peer}")
    }

    #[rpc(skip)]
    fn new() -> Self {
        Self::default()
    }
}
