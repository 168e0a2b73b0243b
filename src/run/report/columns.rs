//! Text in columns.

/// Aligns columns: the first to the left, the others to the right.
pub fn columns(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(|cell| cell.to_string()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let length = |cell: &String| cell.chars().count();
    let width = |column: usize| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // No width of a format: those end at 65535.
            let rest = " ".repeat(width - length(cell));
            text += &if column == 0 { format!("{cell}{rest}") } else { format!("  {rest}{cell}") };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_in_characters() {
        let rows = [["\u{e9}", "1"], ["abc", "20"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(columns(&["", "n"], rows.into_iter()), "      n\n\u{e9}     1\nabc  20\n");
        let long = "x".repeat(1 << 17);
        let text = columns(&["a"], [vec![long.clone()]].into_iter());
        assert_eq!(text, format!("a\n{long}\n"));
    }
}
