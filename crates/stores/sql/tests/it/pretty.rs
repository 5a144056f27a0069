//! Breaks the long lines of a rendered statement, so that it can be reviewed and a diff shows only the part that
//! changed.
//!
//! Works on one line at a time: a list is split into one item per line, then clauses and conditions get their own
//! lines, then the contents of brackets. A line without any of these stays unchanged. Only white space changes, and
//! only where SQL ignores it.

const WIDTH: usize = 110;

/// A line without a list is broken before these words.
const CLAUSES: &[&str] = &[
    " FROM ",
    " WHERE ",
    " ORDER BY ",
    " GROUP BY ",
    " LIMIT ",
    " LEFT JOIN ",
    " JOIN ",
    " WHEN ",
    " ELSE ",
    " END",
    " AND ",
    " OR ",
];

/// A line without a clause is broken before these.
const OPERATORS: &[&str] = &[" THEN ", " UNION ALL ", " || ", " + COALESCE", " * 4"];

/// Returns a text of several lines with the long ones broken.
pub fn lines(text: &str) -> String {
    let broken = text.split('\n').map(|line| {
        let depth = line.len() - line.trim_start().len();
        broken(line.trim_start(), depth).join("\n")
    });
    broken.collect::<Vec<_>>().join("\n")
}

/// Returns an SQL comment, wrapped over several lines.
pub fn comment(text: &str) -> String {
    let mut lines = vec![String::from("--")];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        if last.len() + word.len() < WIDTH {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(format!("--   {word}"));
        }
    }
    lines.join("\n")
}

fn broken(line: &str, depth: usize) -> Vec<String> {
    let whole = || vec![format!("{}{line}", " ".repeat(depth))];
    if depth + line.chars().count() <= WIDTH {
        return whole();
    }
    let parts = list(line).or_else(|| cut_before(CLAUSES, line)).or_else(|| cut_before(OPERATORS, line));
    if let Some(parts) = parts {
        return indented(&parts, depth);
    }
    if let Some((before, inside, after)) = brackets(line) {
        let mut lines = vec![format!("{}{before}", " ".repeat(depth))];
        lines.extend(broken(inside, depth + 2));
        lines.extend(broken(after, depth));
        return lines;
    }
    whole()
}

fn indented(parts: &[&str], depth: usize) -> Vec<String> {
    let depths = std::iter::once(depth).chain(std::iter::repeat(depth + 2));
    parts.iter().zip(depths).flat_map(|(part, depth)| broken(part, depth)).collect()
}

/// The head of a list (`SELECT`, `UPDATE … SET`) and its items; `None` where there is no comma outside brackets.
fn list(line: &str) -> Option<Vec<&str>> {
    let commas: Vec<usize> = outside(line).filter(|at| line[*at..].starts_with(", ")).collect();
    let first = *commas.first()?;
    let head = match line[..first].find(" SET ") {
        Some(at) => at + " SET".len(),
        None => ["SELECT", "RETURNING", "VALUES"]
            .iter()
            .find(|word| line.starts_with(**word))
            .map_or(0, |word| word.len()),
    };
    let mut parts = Vec::new();
    if head > 0 {
        parts.push(&line[..head]);
    }
    let mut from = head;
    for at in commas {
        parts.push(line[from..=at].trim());
        from = at + 1;
    }
    parts.push(line[from..].trim());
    Some(parts)
}

/// The line cut before each of these words; `None` where it has none.
fn cut_before<'a>(words: &[&str], line: &'a str) -> Option<Vec<&'a str>> {
    let mut cuts: Vec<usize> = Vec::new();
    let mut is_range = false;
    for at in outside(line).filter(|at| *at > 0) {
        // The AND of a BETWEEN belongs to it.
        is_range |= line[at..].starts_with(" BETWEEN ");
        if is_range && line[at..].starts_with(" AND ") {
            is_range = false;
        } else if words.iter().any(|word| line[at..].starts_with(word)) {
            cuts.push(at);
        }
    }
    if cuts.is_empty() {
        return None;
    }
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(line.len()));
    Some(starts.zip(ends).map(|(from, to)| line[from..to].trim()).collect())
}

/// The longest pair of brackets: what is before it, in it and after it.
fn brackets(line: &str) -> Option<(&str, &str, &str)> {
    let mut open = Vec::new();
    let mut pairs = Vec::new();
    for (at, sign) in signs(line) {
        match sign {
            '(' => open.push(at),
            ')' => pairs.extend(open.pop().map(|from| (from, at))),
            _ => {}
        }
    }
    // A bracket may close on another line.
    pairs.extend(open.into_iter().map(|from| (from, line.len())));
    let longest = pairs.into_iter().max_by_key(|(from, to)| to - from);
    let (from, to) = longest.filter(|(from, to)| to - from > 40)?;
    Some((&line[..=from], &line[from + 1..to], &line[to..]))
}

/// Positions outside brackets and quotes.
fn outside(line: &str) -> impl Iterator<Item = usize> {
    let mut depth = 0_i32;
    signs(line).filter_map(move |(at, sign)| {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth <= 0).then_some(at)
    })
}

/// Characters outside quotes, with their positions.
fn signs(line: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    line.char_indices().filter(move |(_, sign)| match quote {
        Some(end) => {
            if *sign == end {
                quote = None;
            }
            false
        }
        None if matches!(sign, '\'' | '"' | '`') => {
            quote = Some(*sign);
            false
        }
        None => true,
    })
}

#[test]
fn only_white_space_changes() {
    let text = "UPDATE \"a, b\" AS t SET \"x\" = CASE WHEN t.\"y\" BETWEEN 1 AND 2 THEN 'it''s, (so' ELSE f(t.\"y\", 3) END, \"z\" = 4, \"w\" = 5";
    let shown = lines(text);
    assert!(shown.lines().count() > 3, "{shown}");
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(squeeze(&shown), squeeze(text));
    assert!(shown.contains("'it''s, (so'"), "{shown}");
}
