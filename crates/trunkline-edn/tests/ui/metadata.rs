fn main() {
    trunkline_edn::edn!(^:a []);
}
