fn main() {
    trunkline_edn::edn!([#my/tag]);
}
