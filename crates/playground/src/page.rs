pub fn page(_module: &[u8]) -> String {
    String::new()
}
