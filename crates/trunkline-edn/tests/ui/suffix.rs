fn main() {
    trunkline_edn::edn!([1u8]);
}
