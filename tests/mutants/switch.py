"""Many mutants in one build: every arm of a `match` at the start of a function is its body with one mutant.

The environment variable MINIFENL_MUTANT of the process chooses the arm; without it the code is as written. Text outside of
functions, in `const fn`, in functions that return `impl Trait` and in those that an attribute macro rewrites cannot be chosen so.
"""

import re

VARIABLE = "MINIFENL_MUTANT"
# Appended to the root of each crate.
CHOSEN = f"""
#[doc(hidden)]
fn chosen_mutant() -> usize {{
    static CHOSEN: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("{VARIABLE}").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
}}
"""
REWRITTEN = re.compile(r"#\[[^\n]*\bdevice\)?\]")
# Comments, strings and characters; a lifetime is none of them.
OPAQUE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\])'""", re.DOTALL
)


def blank(text):
    """Returns the text with comments, strings and characters replaced by as many spaces."""
    return OPAQUE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def bodies(text):
    """Returns [begin, end) of the body of every function, with its braces, that can hold a choice."""
    plain, found = blank(text), []
    rewritten = [(item.start(), closing(plain, opening(plain, item.end()))) for item in REWRITTEN.finditer(plain)]
    for start in re.finditer(r"(?:\b(const)\s+)?(?:(?:async|unsafe|extern\s+\S*)\s+)*\bfn\s+\w+", plain):
        begin = opening(plain, start.end())
        if begin is None:
            continue
        head = plain[start.end() : begin]
        if start[1] or re.search(r"->\s*impl\b", head) or any(first < begin < last for first, last in rewritten):
            continue
        found.append((begin, closing(plain, begin)))
    return found


def opening(plain, at):
    """Returns the index of the brace that opens the body of the function whose name ends at `at`; None where it has no body."""
    depth = 0
    for index in range(at, len(plain)):
        char = plain[index]
        depth += (char in "([") - (char in ")]")
        if depth == 0 and char in "{;":
            return index if char == "{" else None
    return None


def closing(plain, begin):
    """Returns the index behind the brace that closes the one at `begin`."""
    depth = 0
    for index in range(begin, len(plain)):
        depth += (plain[index] == "{") - (plain[index] == "}")
        if depth == 0:
            return index + 1
    return len(plain)


def switched(text, mutants):
    """Returns the text with a choice of its mutants, and the lines [first, last] of each mutant's arm by number.

    `mutants`: pairs of a number and an entry of the lists with `find` and `replace`. A mutant without a function is left out.
    """
    functions, groups = bodies(text), {}
    for number, mutant in mutants:
        begin = text.index(mutant["find"])
        end = begin + len(mutant["find"])
        around = [body for body in functions if body[0] < begin and end < body[1]]
        if around:
            # The outermost, so that no choice lies in another's arm.
            groups.setdefault(min(around), []).append((number, mutant))
    arms = {}
    for body in sorted(groups, reverse=True):
        code, line = text[slice(*body)], text[: body[0]].count("\n") + 1
        choice, here = "{ match crate::chosen_mutant() {\n", {}
        for number, mutant in groups[body]:
            first = line + choice.count("\n")
            choice += f"{number} => {code.replace(mutant['find'], mutant['replace'])}\n"
            here[number] = (first, line + choice.count("\n") - 1)
        choice += f"_ => {code}\n}} }}"
        # The bodies so far stand behind this one.
        grown = choice.count("\n") - code.count("\n")
        arms = here | {number: (first + grown, last + grown) for number, (first, last) in arms.items()}
        text = text[: body[0]] + choice + text[body[1] :]
    return text, arms
