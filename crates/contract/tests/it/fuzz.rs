//! Tests that parsing any text returns a contract or a list of mistakes.

use postrider_contract::{Contract, Transition};
use proptest::prelude::*;

fn any_text() -> impl Strategy<Value = &'static str> {
    let texts: Vec<&'static str> =
        Contract::builtin_names().map(|name| Contract::builtin(name).expect("a built-in")).collect();
    prop::sample::select(texts)
}

/// Text that a typing or merge mistake may insert.
fn any_piece() -> impl Strategy<Value = String> {
    let pieces = [
        "\"\"",
        "[]",
        "{}",
        "0",
        "-1",
        "true",
        "9e99",
        "\"$\"",
        "\"?\"",
        "\"ß\"",
        "1979-05-27",
        "\n[[stage]]\n",
        "[lease]",
        "=",
    ];
    prop_oneof![prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), ".{0,8}"]
}

fn spots(text: &str) -> Vec<usize> {
    text.char_indices().map(|(index, _)| index).chain([text.len()]).collect()
}

fn check(text: &str) {
    match Contract::parse("fuzz.toml", text) {
        Ok(contract) => {
            for stage in &contract.stages {
                for transition in std::iter::once(Transition::Claimed).chain(Transition::SETTLES) {
                    let _ = contract.assignments(&contract.lease_move(stage, transition));
                }
            }
            let _ = contract.mermaid();
        }
        Err(problems) => {
            for problem in &problems {
                let (line, column) = problem.place.position.unwrap_or((1, 1));
                assert!(line >= 1 && line <= text.lines().count() + 1 && column >= 1, "{problem}");
                assert!(!problem.what.is_empty());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_piece_never_panics(text in any_text(), at in any::<prop::sample::Index>(), cut in 0_usize..40, piece in any_piece()) {
        let spots = spots(text);
        let start = at.index(spots.len());
        let end = (start + cut).min(spots.len() - 1);
        check(&format!("{}{piece}{}", &text[..spots[start]], &text[spots[end]..]));
    }

    #[test]
    fn a_changed_value_never_panics(text in any_text(), at in any::<prop::sample::Index>(), piece in any_piece()) {
        let lines: Vec<&str> = text.lines().collect();
        let chosen = at.index(lines.len());
        let changed: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(index, line)| match line.split_once('=') {
                Some((key, _)) if index == chosen => format!("{key}= {piece}"),
                _ => (*line).to_owned(),
            })
            .collect();
        check(&changed.join("\n"));
    }

    #[test]
    fn a_lost_line_never_panics(text in any_text(), at in any::<prop::sample::Index>()) {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.remove(at.index(lines.len()));
        check(&lines.join("\n"));
    }

    #[test]
    fn no_text_panics(text in ".{0,200}") {
        check(&text);
    }
}
