use super::from_html;

#[test]
fn blocks_become_lines_and_links_show_their_target() {
    let html = "<html><head><title>T</title><style>p{}</style></head><body><h1>Hi  Ann,</h1>\n<p>your <b>order</b>\nis\
        <br>ready &amp; paid: 3&nbsp;&euro; &lt;x&gt; &#x2764; &unknown;</p><!-- <p>no</p> -->\
        <ul><li>one</li><li>two</li></ul><p><a href='https://example.org/a?b=1&amp;c=2'>Open it</a>, \
        <a href=\"https://example.org\">https://example.org</a></p><script>alert('<p>')</script></body></html>";
    let text = "Hi Ann,\n\nyour order is\nready & paid: 3\u{a0}€ <x> ❤ &unknown;\n\n- one\n- two\n\n\
        Open it (https://example.org/a?b=1&c=2), https://example.org\n";
    assert_eq!(from_html(html), text);
}

#[test]
fn cells_are_kept_apart() {
    assert_eq!(from_html("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"), "a b\nc\n");
}

#[test]
fn broken_html_loses_no_text() {
    for (html, text) in
        [("a < b", "a < b\n"), ("<p>x", "x\n"), ("x</p></div>", "x\n"), ("<a href='x", "<a href='x\n")]
    {
        assert_eq!(from_html(html), text, "{html}");
    }
    assert_eq!(from_html(""), "");
}
