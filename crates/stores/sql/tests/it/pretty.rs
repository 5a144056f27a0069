//! Breaks the long lines of a rendered statement, so that it can be reviewed and a diff shows only the part that
//! changed.
//!
//! Works on one line at a time: the columns of a `SELECT`, `SET` or `RETURNING` get a line each. A long line is split
//! into the items of its list, or before its clauses and conditions, or before its operators, then the contents of
//! brackets. A line without any of these stays unchanged. Only white space changes, and only where SQL ignores it.

/// A line that is longer is broken.
const WIDTH: usize = 110;

/// A long line is broken before these words, and within such a part before those of the next list: the loosest first.
const BREAKS: [&[&str]; 4] = [
    &[
        " FROM ",
        " WHERE ",
        " ORDER BY ",
        " GROUP BY ",
        " LIMIT ",
        " LEFT JOIN ",
        " JOIN ",
        " AFTER ",
        " FOR EACH ",
        " GENERATED ",
        " ON ",
        " EXECUTE ",
        " WHEN ",
        " ELSE ",
        " END",
        " AND ",
        " OR ",
    ],
    &[" THEN ", " UNION ALL ", " || ", " > ", " < ", " BETWEEN "],
    &[" + ", " - "],
    &[" * ", " / "],
];

/// What may follow the columns of a `SELECT`, `SET` or `RETURNING`.
const AFTER_COLUMNS: &[&str] = &[" FROM ", " WHERE ", " ORDER BY ", " LIMIT ", " RETURNING "];

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
    if let Some((columns, rest)) = columns(line) {
        let mut lines = indented(&list(columns).unwrap_or_default(), depth);
        lines.extend((!rest.is_empty()).then(|| broken(rest, depth)).into_iter().flatten());
        return lines;
    }
    let whole = || vec![format!("{}{line}", " ".repeat(depth))];
    if depth + line.chars().count() <= WIDTH {
        return whole();
    }
    let parts = list(line).or_else(|| BREAKS.iter().find_map(|words| cut_before(words, line)));
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

/// The words before a list of columns: `SELECT`, `RETURNING`, `UPDATE … SET`; `None` for other lines.
fn head(line: &str) -> Option<&str> {
    let word = ["SELECT DISTINCT ", "SELECT ", "RETURNING "].into_iter().find(|word| line.starts_with(word));
    let set = || Some(outside(line).find(|at| line[*at..].starts_with(" SET "))? + " SET ".len());
    let end = word.map(str::len).or_else(set)?;
    Some(&line[..end])
}

/// The line up to the end of its columns, and what follows; `None` for a line with fewer than two columns.
fn columns(line: &str) -> Option<(&str, &str)> {
    let head = head(line)?.len();
    let ends = |at: &usize| AFTER_COLUMNS.iter().any(|word| line[*at..].starts_with(word));
    let end = outside(line).filter(|at| *at > head).find(ends).unwrap_or(line.len());
    let several =
        outside(&line[..end]).any(|at| at > head && at + 1 < line.len() && line[at..].starts_with(','));
    several.then(|| (&line[..end], line[end..].trim_start()))
}

/// The head of a list and its items; `None` where there is no comma outside brackets.
fn list(line: &str) -> Option<Vec<&str>> {
    // The last comma ends an item of another list.
    let commas: Vec<usize> =
        outside(line).filter(|at| *at + 1 < line.len() && line[*at..].starts_with(',')).collect();
    let first = *commas.first()?;
    let values = line.starts_with("VALUES").then_some("VALUES");
    let head = head(line).or(values).filter(|head| head.len() <= first).unwrap_or_default();
    let mut parts = vec![head.trim_end()];
    let mut from = head.len();
    for at in commas {
        parts.push(line[from..=at].trim());
        from = at + 1;
    }
    parts.push(line[from..].trim());
    parts.retain(|part| !part.is_empty());
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
            cuts.extend(words.contains(&" BETWEEN ").then_some(at));
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

#[test]
fn columns_get_a_line_each() {
    let shown = lines("UPDATE t AS t SET a = f(1, 2), b = 3 WHERE c IN (4, 5)\nRETURNING a, b");
    assert_eq!(shown, "UPDATE t AS t SET\n  a = f(1, 2),\n  b = 3\nWHERE c IN (4, 5)\nRETURNING\n  a,\n  b");
    assert_eq!(lines("SELECT a, b FROM t ORDER BY a, b"), "SELECT\n  a,\n  b\nFROM t ORDER BY a, b");
    assert_eq!(lines("SELECT f(a, b) FROM t"), "SELECT f(a, b) FROM t");
}

#[test]
fn long_arithmetic_is_broken_at_its_operators() {
    let sum = "((first.column_with_a_long_name + 59) / 60)";
    let shown = lines(&format!("{sum} - {sum} * {sum} / {sum}"));
    let wide = shown.lines().map(|line| line.chars().count()).max();
    assert!(wide.is_some_and(|wide| wide <= 110) && shown.contains("\n  - "), "{shown}");
}
