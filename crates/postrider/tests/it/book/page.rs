//! Parses the blocks of a page, and compares output with what the page shows.

/// A step of a page.
#[derive(Debug)]
pub enum Block {
    /// A file to write.
    File { name: String, text: String },
    /// A command, and its output.
    Command { line: String, says: Vec<String> },
}

/// Parses the blocks, in the order of the page.
pub fn read(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            _ if info == "console" => blocks.extend(commands(&body)),
            Some((_, name)) if !name.is_empty() => {
                blocks.push(Block::File { name: name.to_owned(), text: body.join("\n") + "\n" });
            }
            _ => {}
        }
    }
    blocks
}

fn commands(body: &[&str]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut goes_on = false;
    for line in body {
        match blocks.last_mut() {
            Some(Block::Command { line: command, .. }) if goes_on => {
                command.push('\n');
                command.push_str(line);
                goes_on = line.ends_with('\\');
            }
            last => {
                if let Some(command) = line.strip_prefix("$ ") {
                    goes_on = command.ends_with('\\');
                    blocks.push(Block::Command { line: command.to_owned(), says: Vec::new() });
                } else if let Some(Block::Command { says, .. }) = last {
                    says.push((*line).to_owned());
                }
            }
        }
    }
    blocks
}

/// Whether the output matches the lines. A line of `…` alone matches any number of lines, also none.
pub fn fits(lines: &[String], output: &[&str]) -> bool {
    match lines.split_first() {
        None => output.is_empty(),
        Some((line, rest)) if line.trim() == "…" => {
            (0..=output.len()).any(|skip| fits(rest, &output[skip..]))
        }
        Some((line, rest)) => {
            output.split_first().is_some_and(|(first, others)| line_fits(line, first) && fits(rest, others))
        }
    }
}

fn line_fits(line: &str, output: &str) -> bool {
    let (line, output) = (line.trim_end(), output.trim_end());
    let parts: Vec<&str> = line.split('…').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return line == output };
    let Some(mut rest) = output.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_files_and_commands_with_their_output() {
        let page = "# T\n```toml a.toml\nx = 1\n```\n```sql\nno\n```\n```console\n$ one \\\n  two\nsaid\n$ three\n```\n";
        let blocks = read(page);
        assert_eq!(blocks.len(), 3, "{blocks:?}");
        let Block::File { name, text } = &blocks[0] else { panic!("{blocks:?}") };
        assert_eq!((name.as_str(), text.as_str()), ("a.toml", "x = 1\n"));
        let Block::Command { line, says } = &blocks[1] else { panic!("{blocks:?}") };
        assert_eq!((line.as_str(), says.as_slice()), ("one \\\n  two", &["said".to_owned()][..]));
    }

    #[test]
    fn only_dots_match_anything() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert!(fits(&lines("a … c\n…\nlast"), &["a b c", "x", "y", "last"]));
        assert!(fits(&lines("a …"), &["a anything"]));
        assert!(!fits(&lines("a … c"), &["a b c d"]));
        assert!(!fits(&lines("a"), &["a", "b"]));
        assert!(!fits(&lines("a\nb"), &["a"]));
        assert!(!fits(&lines("a…b"), &["ac"]));
    }
}
