//! The five contracts parse, verify, and mean what their specifications say.

use postrider_contract::Contract;

pub fn builtin(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("a built-in");
    Contract::parse(&format!("{name}.toml"), text).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn all_five_parse_and_verify() {
    for name in Contract::builtin_names() {
        assert_eq!(builtin(name).name, name);
    }
}
