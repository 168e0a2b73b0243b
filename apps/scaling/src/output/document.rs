//! A report as blocks, which become Markdown or one self-contained HTML page.

use minifenl_figure::escaped;
use std::fmt::Write;

/// A part of a report.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading of the second level.
    Heading(&'static str),
    /// A paragraph.
    Text(String),
    /// A command line.
    Command(String),
    /// Sentences.
    List(Vec<String>),
    /// A header and rows of cells.
    Table(Vec<String>, Vec<Vec<String>>),
    /// Name of the file without its ending, what it shows, the SVG.
    Figure(&'static str, String, String),
}

const STYLE: &str = "body{font:16px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto}td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:right}\
th{background:#f3f3f3}figure{margin:1.5rem 0}figcaption{color:#555}svg{max-width:100%;height:auto}\
pre{background:#f3f3f3;padding:.6rem;overflow-x:auto}";

/// The Markdown. Figures are files beside it.
pub fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut text = format!("# {title}\n");
    for block in blocks {
        text += "\n";
        match block {
            Block::Heading(heading) => text += &format!("## {heading}\n"),
            Block::Text(words) => text += &format!("{words}\n"),
            Block::Command(words) => text += &format!("```sh\n{words}\n```\n"),
            Block::List(lines) => lines.iter().for_each(|line| text += &format!("- {line}\n")),
            Block::Table(header, rows) => {
                let rule = vec!["---:".to_string(); header.len()];
                for cells in [header, &rule].into_iter().chain(rows) {
                    text += &format!("| {} |\n", cells.join(" | "));
                }
            }
            Block::Figure(name, caption, _) => text += &format!("![{caption}]({name}.svg)\n"),
        }
    }
    text
}

/// The page: no scripts, no files beside it.
pub fn html(title: &str, blocks: &[Block]) -> String {
    let title = escaped(title);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>\n"
    );
    for block in blocks {
        let _ = match block {
            Block::Heading(heading) => writeln!(text, "<h2>{}</h2>", escaped(heading)),
            Block::Text(words) => writeln!(text, "<p>{}</p>", escaped(words)),
            Block::Command(words) => writeln!(text, "<pre>{}</pre>", escaped(words)),
            Block::List(lines) => {
                let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
                writeln!(text, "<ul>\n{items}</ul>")
            }
            Block::Table(header, rows) => {
                let cells = |tag: &str, cells: &[String]| {
                    let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
                    format!("<tr>{cells}</tr>\n")
                };
                let rows: String = rows.iter().map(|row| cells("td", row)).collect();
                writeln!(text, "<table>\n{}{rows}</table>", cells("th", header))
            }
            Block::Figure(_, caption, svg) => {
                writeln!(text, "<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>", escaped(caption))
            }
        };
    }
    text + "</body>\n</html>\n"
}

#[test]
fn blocks_become_markdown_and_a_page_without_links() {
    let cells = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let blocks = [
        Block::Heading("Times"),
        Block::List(vec!["a < b".into()]),
        Block::Table(cells(&["p", "t"]), vec![cells(&["1", "2"])]),
        Block::Figure("time", "Time".into(), "<svg></svg>\n".into()),
    ];
    let expected = "# Study\n\n## Times\n\n- a < b\n\n| p | t |\n| ---: | ---: |\n| 1 | 2 |\n\n![Time](time.svg)\n";
    assert_eq!(markdown("Study", &blocks), expected);
    let page = html("A & B", &blocks);
    assert!(page.contains("<h1>A &amp; B</h1>") && page.contains("<li>a &lt; b</li>") && page.contains("<svg></svg>"));
    assert!(page.contains("<tr><td>1</td><td>2</td></tr>") && !page.contains("href") && !page.contains("src="));
}
