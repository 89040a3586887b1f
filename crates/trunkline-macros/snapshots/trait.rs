/// Arithmetic.
#[rpc(namespace = "math")]
pub trait Math: Display {
    /// Divides.
    #[rpc(idempotent, title = "Divide", tool = "divide")]
    #[example("a half", dividend = 1, divisor = 2 => 0.5)]
    #[example(dividend = -7.5 => -7.5)]
    async fn divide(
        &self,
        /// The number to divide.
        dividend: f64,
        #[param(default = 1.0)] divisor: f64,
    ) -> Result<f64, MathError>;

    #[rpc(read_only, closed_world)]
    async fn sum(&self, #[extract] peer: Peer, #[param(variadic, name = "of")] numbers: Vec<i64>) -> i64 {
        numbers.iter().sum()
    }

    #[notification]
    async fn log(&self, line: String);

    /// Writes everything to a file.
    #[cfg(feature = "file")]
    #[rpc(destructive)]
    fn write(&self) -> io::Result<()>;

    fn version(&self) -> &'static str;

    #[rpc(skip)]
    fn local<T>(&self, value: &T) -> &T;
}
