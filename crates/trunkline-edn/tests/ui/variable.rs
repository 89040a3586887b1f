fn main() {
    let answer = 42;
    trunkline_edn::edn!({:answer answer});
}
