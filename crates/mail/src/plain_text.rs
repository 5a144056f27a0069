//! Converts HTML to plain text, for mail programs that show no HTML. Tags are removed, blocks become lines, and links
//! show their target; tables are not laid out.

#[cfg(test)]
mod tests;

/// Returns the text between the tags, with line breaks where blocks begin and end.
pub fn from_html(html: &str) -> String {
    let mut text = TextWriter::default();
    let mut link: Option<(String, usize)> = None;
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push(&rest[..open]);
        rest = &rest[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((tag, after)) = split_tag(rest) else {
            text.push(rest);
            return text.finish();
        };
        rest = after;
        let name = tag_name(tag);
        match name.as_str() {
            "script" | "style" | "head" | "title" => rest = skip_past(rest, &name),
            "a" => link = attribute(tag, "href").map(|href| (href, text.out.len())),
            "/a" => {
                if let Some((href, start)) = link.take() {
                    text.link(&href, start);
                }
            }
            "li" => text.item(),
            "img" => text.push(&attribute(tag, "alt").unwrap_or_default()),
            "td" | "th" => text.space(),
            _ => text.lines(block_lines(&name)),
        }
    }
    text.push(rest);
    text.finish()
}

/// Returns the number of line breaks at a tag.
fn block_lines(name: &str) -> usize {
    match name.trim_start_matches('/').trim_end_matches('/') {
        "br" => 0,
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "table" | "blockquote" | "hr"
        | "pre" => 2,
        "div" | "tr" | "section" | "article" | "header" | "footer" | "li" | "body" => 1,
        _ => usize::MAX,
    }
}

/// Text under construction, with white space collapsed as in HTML.
#[derive(Default)]
struct TextWriter {
    out: String,
    space: bool,
}

impl TextWriter {
    fn push(&mut self, html: &str) {
        let decoded = decode(html);
        for word in decoded.split_inclusive(|c: char| c.is_ascii_whitespace()) {
            let bare = word.trim_matches(|c: char| c.is_ascii_whitespace());
            if !bare.is_empty() {
                if self.space && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
                    self.out.push(' ');
                }
                self.out.push_str(bare);
                self.space = false;
            }
            self.space |= bare.len() < word.len();
        }
    }

    fn space(&mut self) {
        self.space = true;
    }

    /// Ends the line and adds `wanted - 1` empty lines; 0 is a plain break, `MAX` no break at all.
    fn lines(&mut self, wanted: usize) {
        if wanted == usize::MAX {
            return;
        }
        self.space = false;
        if wanted == 0 {
            self.out.push('\n');
            return;
        }
        let have = self.out.bytes().rev().take_while(|&byte| byte == b'\n').count();
        if !self.out.is_empty() {
            self.out.extend(std::iter::repeat_n('\n', wanted.saturating_sub(have)));
        }
    }

    fn item(&mut self) {
        self.lines(1);
        self.out.push_str("- ");
    }

    fn link(&mut self, href: &str, start: usize) {
        let link_text = self.out.get(start..).unwrap_or_default().trim();
        let worth_showing =
            href.contains(':') && link_text != href && href.trim_start_matches("mailto:") != link_text;
        if worth_showing {
            let gap = if link_text.is_empty() { "" } else { " " };
            self.out.extend([gap, "(", href, ")"]);
        }
    }

    fn finish(self) -> String {
        let mut text = String::with_capacity(self.out.len() + 1);
        for line in self.out.trim().lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Splits off the tag at the start of `rest`; quoted attributes may contain `>`.
fn split_tag(rest: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (None, b'>') => return Some((&rest[1..at], &rest[at + 1..])),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

fn tag_name(tag: &str) -> String {
    let end = tag.find(|c: char| c.is_ascii_whitespace()).unwrap_or(tag.len());
    tag[..end].to_ascii_lowercase()
}

/// Returns the text after the end tag of `name`.
fn skip_past<'a>(rest: &'a str, name: &str) -> &'a str {
    let end = rest.match_indices("</").find(|(at, _)| {
        rest.get(at + 2..at + 2 + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
    });
    end.and_then(|(at, _)| rest[at..].split_once('>')).map_or("", |(_, after)| after)
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let wanted = format!("{name}=");
    let at = tag.to_ascii_lowercase().find(&wanted)?;
    let value = &tag[at + wanted.len()..];
    let value = match value.as_bytes().first()? {
        quote @ (b'"' | b'\'') => value[1..].split(char::from(*quote)).next()?,
        _ => value.split(|c: char| c.is_ascii_whitespace()).next()?,
    };
    Some(decode(value))
}

/// Decodes common character references; others stay unchanged.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((reference(&rest[1..end])?, end)));
        let (c, used) = found.map_or(('&', 1), |(c, end)| (c, end + 1));
        out.push(c);
        rest = &rest[used..];
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "copy" => '©',
        "euro" => '€',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|c| !c.is_control() || *c == '\n')?
        }
    })
}
