//! Rust source as tokens: words, `::`, other characters one by one, and string literals; comments and numbers are dropped.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A keyword or an identifier.
    Word(String),
    /// The path separator.
    Colons,
    /// The content of a string literal, escapes as written.
    Text(String),
    /// Any other character.
    Char(char),
}

impl Token {
    /// Whether the token is this character.
    pub fn is(&self, c: char) -> bool {
        *self == Token::Char(c)
    }

    /// The word, if it is one.
    pub fn word(&self) -> Option<&str> {
        if let Token::Word(word) = self { Some(word) } else { None }
    }
}

/// Splits source text into tokens.
pub fn tokens(text: &str) -> Vec<Token> {
    let code: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    let begins = |at: usize, with: &str| with.chars().enumerate().all(|(i, c)| code.get(at + i) == Some(&c));
    let word_end = |mut at: usize| {
        while code.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
            at += 1;
        }
        at
    };
    while at < code.len() {
        let c = code[at];
        if begins(at, "//") {
            while at < code.len() && code[at] != '\n' {
                at += 1;
            }
        } else if begins(at, "/*") {
            let mut depth = 0;
            loop {
                match () {
                    () if begins(at, "/*") => (depth, at) = (depth + 1, at + 2),
                    () if begins(at, "*/") => (depth, at) = (depth - 1, at + 2),
                    () => at += 1,
                }
                if depth == 0 || at >= code.len() {
                    break;
                }
            }
        } else if let Some((text, end)) = string(&code, at) {
            found.push(Token::Text(text));
            at = end;
        } else if c == '\'' {
            at = quote_end(&code, at);
        } else if c.is_ascii_digit() {
            at = word_end(at);
        } else if c.is_alphabetic() || c == '_' {
            let end = word_end(at);
            found.push(Token::Word(code[at..end].iter().collect()));
            at = end;
        } else if begins(at, "::") {
            found.push(Token::Colons);
            at += 2;
        } else {
            if !c.is_whitespace() {
                found.push(Token::Char(c));
            }
            at += 1;
        }
    }
    found
}

/// The string literal at `at`, raw or not, and its end.
fn string(code: &[char], at: usize) -> Option<(String, usize)> {
    let mut open = at;
    while open < at + 2 && matches!(code.get(open), Some('b' | 'c' | 'r')) {
        open += 1;
    }
    let is_raw = open > at && code[open - 1] == 'r';
    let hashes = if is_raw { code[open..].iter().take_while(|c| **c == '#').count() } else { 0 };
    let first = open + hashes + 1;
    if code.get(first - 1) != Some(&'"') {
        return None;
    }
    let mut end = first;
    while end < code.len() {
        if code[end] == '"' && code[end + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes {
            break;
        }
        end += if code[end] == '\\' && !is_raw { 2 } else { 1 };
    }
    let end = end.min(code.len());
    Some((code[first..end].iter().collect(), end + 1 + hashes))
}

/// The end of the character literal or of the quote of the lifetime at `at`.
fn quote_end(code: &[char], at: usize) -> usize {
    match (code.get(at + 1), code.get(at + 2)) {
        (Some('\\'), _) => (at + 3..code.len()).find(|&i| code[i] == '\'').map_or(code.len(), |i| i + 1),
        (_, Some('\'')) => at + 3,
        _ => at + 1,
    }
}

#[test]
fn comments_and_literals_are_no_code() {
    let code = r##"a::b // crate::c
        /* crate::d /* e */ */ 'x' '\'' '"' "f \" g" r#"h " i"# b"j" 1.5e3f64 &'l k"##;
    let words: Vec<_> = tokens(code).into_iter().filter(|token| !token.is('.')).collect();
    let word = |text: &str| Token::Word(text.into());
    let text = |text: &str| Token::Text(text.into());
    let expected = [
        word("a"),
        Token::Colons,
        word("b"),
        text(r#"f \" g"#),
        text("h \" i"),
        text("j"),
        Token::Char('&'),
        word("l"),
        word("k"),
    ];
    assert_eq!(words, expected);
}
