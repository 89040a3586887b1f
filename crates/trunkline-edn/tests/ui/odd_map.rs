fn main() {
    trunkline_edn::edn!({:answer});
}
