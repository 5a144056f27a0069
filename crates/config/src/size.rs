//! Parses and formats sizes in bytes.

const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];

/// Parses a size: a whole number of bytes, or one with `KB`, `MB` or `GB` (powers of 1024); `None` if it is invalid.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "" | "B" => Some(number),
        unit => number.checked_mul(UNITS.iter().find(|(name, _)| *name == unit)?.1),
    }
}

/// Formats a size in the largest unit that is exact: `64MB`; bytes without a unit.
pub fn format_size(size: u64) -> String {
    let unit = UNITS.iter().find(|(_, bytes)| size > 0 && size.is_multiple_of(*bytes));
    unit.map_or_else(|| size.to_string(), |(name, bytes)| format!("{}{name}", size / bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("12B", 12), (" 25MB ", 25 << 20), ("1 KB", 1024), ("2GB", 2 << 30)]
        {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "many", "MB", "-1", "1.5MB", "1TB", "99999999999GB"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_formatted_size_reads_back() {
        for text in ["0", "1", "1000", "1KB", "1025", "64MB", "1GB"] {
            assert_eq!(format_size(parse_size(text).unwrap()), text);
        }
    }
}
