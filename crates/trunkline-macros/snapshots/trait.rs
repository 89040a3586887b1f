/// Arithmetic.
#[rpc(namespace = "math")]
pub trait Math: Display {
    /// Divides.
    async fn divide(&self, dividend: f64, #[param(default = 1.0)] divisor: f64) -> Result<f64, MathError>;

    async fn sum(&self, #[param(variadic)] numbers: Vec<i64>) -> i64 {
        numbers.iter().sum()
    }

    #[notification]
    async fn log(&self, line: String);

    fn version(&self) -> &'static str;
}
