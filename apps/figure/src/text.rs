//! Text in an SVG: escapes, widths and line breaks.

/// Widths of the characters from space to `~` in DejaVu Sans, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];
/// Width of every other character, which is at least that of the signs in figures (`×` is 838, superscripts are 401).
const OTHER: u16 = 838;

/// Returns the width in pixels of a line of text.
pub fn width(text: &str, size: f64) -> f64 {
    let of = |letter: char| match letter {
        ' '..='~' => WIDTHS[letter as usize - ' ' as usize],
        '\u{2070}'..='\u{2079}' | '\u{2080}'..='\u{2089}' | '¹' | '²' | '³' => 401,
        _ => OTHER,
    };
    text.chars().map(|letter| f64::from(of(letter))).sum::<f64>() * size * 1e-3
}

/// Escapes text for XML, which has no control characters.
pub fn escaped(text: &str) -> String {
    let text = text.replace(char::is_control, "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Breaks text at spaces into lines of at most `most` pixels; a longer word has a line of its own. `8 × 8` and `P = 8` stay whole.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Words with the spaces that no line ends at.
    let glued = text.replace(" = ", "\u{a0}=\u{a0}").replace(" × ", "\u{a0}×\u{a0}");
    for word in glued.split(' ').map(|word| word.replace('\u{a0}', " ")) {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(&word, size) <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[test]
fn lines_are_broken_at_spaces_and_no_wider_than_asked() {
    assert!((width("MW ", 10.0) - 21.7).abs() < 1e-9);
    assert_eq!(wrapped("ab ab ab", 10.0, 2.0 * width("ab", 10.0) + 3.2), ["ab ab", "ab"]);
    assert_eq!(wrapped("a P = 8 8 × 8", 10.0, width("a P = 8", 10.0)), ["a P = 8", "8 × 8"]);
    assert_eq!(wrapped("aaa P = 8", 10.0, width("aaa P =", 10.0)), ["aaa", "P = 8"]);
    assert_eq!(wrapped("a longword b", 10.0, 20.0), ["a", "longword", "b"]);
    assert_eq!(escaped("a<b & \"c\"\u{1b}"), "a&lt;b &amp; &quot;c&quot;\u{fffd}");
}
