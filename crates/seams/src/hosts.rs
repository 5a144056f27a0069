//! Host patterns: the hosts to which a service account's credentials may be sent.

/// The pattern that matches every host.
pub const ANY: &str = "*";

/// Whether one of the patterns matches this host. A pattern is a host, `*.` and a domain for all hosts below it, or
/// `*`. Case is ignored; an IPv6 address may have its brackets.
pub fn allows(patterns: &[String], host: &str) -> bool {
    let host = bare(host);
    patterns.iter().any(|pattern| match pattern.strip_prefix("*.") {
        _ if pattern == ANY => true,
        Some(domain) => {
            let below = host
                .len()
                .checked_sub(domain.len() + 1)
                .and_then(|at| Some((host.get(..at)?, host.get(at..)?)));
            below.is_some_and(|(name, rest)| {
                !name.is_empty() && rest.starts_with('.') && rest[1..].eq_ignore_ascii_case(domain)
            })
        }
        None => bare(pattern).eq_ignore_ascii_case(host),
    })
}

fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    inner.strip_suffix('.').unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j10_a_host_is_named_by_itself_its_domain_or_a_star() {
        let patterns = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let named = patterns(&["hooks.example.com", "*.shop.example", "::1"]);
        for host in [
            "hooks.example.com",
            "HOOKS.example.com",
            "hooks.example.com.",
            "a.shop.example",
            "a.b.Shop.example",
            "[::1]",
        ] {
            assert!(allows(&named, host), "{host}");
        }
        for host in [
            "example.com",
            "x.hooks.example.com",
            "shop.example",
            ".shop.example",
            "evilshop.example",
            "hooks.example.com.evil",
            "é",
            "",
        ] {
            assert!(!allows(&named, host), "{host}");
        }
        assert!(allows(&patterns(&["*"]), "anything") && !allows(&[], "anything"));
    }
}
