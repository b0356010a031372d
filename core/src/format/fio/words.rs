//! Shell text cut into commands and words, before anything is filled in: quotes, backslashes, remarks, pipes,
//! redirections, prompts, and the marks of quoted mail.

use super::source::At;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Characters that stand for themselves.
    Text(String),
    /// `$NAME`, `${NAME}`, `${NAME:-default}`.
    Variable { name: String, default: Option<String>, quoted: bool },
    /// The inside of `$((...))`.
    Arithmetic(String),
    /// The inside of `$(...)` or of back quotes.
    Command(String),
    /// `<name>` where a value should be: a placeholder that was not replaced.
    Placeholder(String),
}

/// A word and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
    pub(super) at: At,
    /// Just behind the first `=`.
    pub(super) value_at: At,
}

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    /// It ends with `&`, so the next one starts at once.
    pub(super) background: bool,
}

/// All of a text.
pub(super) struct Commands {
    pub(super) list: Vec<Command>,
    pub(super) remarks: Vec<String>,
    /// Where reading stopped, if there are more words than [`WORDS_MAX`].
    pub(super) cut_at: Option<At>,
}

/// Most words that are read.
pub(super) const WORDS_MAX: usize = 20_000;

/// Cuts `text` up. `root_prompt`: a line that starts with `#` and goes on with a command is one, not a remark.
pub(super) fn commands(text: &str, root_prompt: bool) -> Commands {
    let mut lexer = Lexer { chars: characters(text, root_prompt), next: 0, ..Lexer::default() };
    while lexer.words < WORDS_MAX && lexer.step() {}
    let cut_at = lexer.chars.get(lexer.next).map(|(_, at)| *at);
    lexer.end_command(false);
    Commands { list: lexer.commands, remarks: lexer.remarks, cut_at }
}

/// How many characters at the start of a line are a prompt or a mark of quoted mail.
pub(super) fn prompt(line: &str, root_prompt: bool) -> usize {
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let blanks = rest.len() - rest.trim_start().len();
        let body = rest.trim_start();
        let mark = body.split_whitespace().next().unwrap_or_default();
        let user_at_host = mark.ends_with(['$', '#', '%']) && mark.len() > 1 && mark.contains(['@', ':']);
        if matches!(mark, "$" | "%" | ">") || user_at_host || (root_prompt && mark == "#") {
            at += blanks + mark.len();
            continue;
        }
        if let Some(end) = body.strip_prefix('[').and_then(|inside| inside.find("]# ").or(inside.find("]$ ")))
        {
            at += blanks + end + "[]#".len();
            continue;
        }
        return at + blanks;
    }
}

/// The characters with their places, without prompts, and with lines that end in a backslash joined.
fn characters(text: &str, root_prompt: bool) -> Vec<(char, At)> {
    let mut all = Vec::with_capacity(text.len() + 1);
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let skip = prompt(line, root_prompt);
        let skipped = line[..skip].chars().count();
        // Blanks behind the backslash are a slip of the copy, not meant as an escaped blank.
        let trimmed = line[skip..].trim_end();
        let (body, joined) = match trimmed.strip_suffix('\\') {
            Some(body) => (body, true),
            None => (&line[skip..], false),
        };
        let mut column = u32::try_from(skipped + 1).unwrap_or(u32::MAX);
        for c in body.chars() {
            all.push((c, At { line: number, column }));
            column = column.saturating_add(1);
        }
        if !joined {
            all.push(('\n', At { line: number, column }));
        }
    }
    all
}

#[derive(Default)]
struct Lexer {
    chars: Vec<(char, At)>,
    next: usize,
    commands: Vec<Command>,
    remarks: Vec<String>,
    command: Command,
    word: Option<Word>,
    /// Behind a pipe: words belong to another program.
    piped: bool,
    /// The next word is the target of a redirection.
    redirected: bool,
    words: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.next + ahead).map(|(c, _)| *c)
    }

    /// Whether a quote that was just taken closes on its line. If not, it is an apostrophe of the text around the
    /// commands, and must not swallow them.
    fn closes_on_line(&self, quote: char) -> bool {
        let rest = self.chars[self.next..].iter().map(|(c, _)| *c);
        rest.take_while(|c| *c != '\n').any(|c| c == quote)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> String {
        let taken: String =
            self.chars[self.next..].iter().map(|(c, _)| *c).take_while(|c| accept(*c)).collect();
        self.next += taken.chars().count();
        taken
    }

    /// Handles one character or construct; false at the end.
    fn step(&mut self) -> bool {
        let Some((c, at)) = self.chars.get(self.next).copied() else { return false };
        self.next += 1;
        match c {
            '\n' | ';' | '(' | ')' => self.end_command(false),
            c if c.is_whitespace() => self.end_word(),
            '#' if self.word.is_none() => {
                let remark = self.take_while(|c| c != '\n');
                self.remarks.push(remark);
            }
            '|' | '&' if self.peek(0) == Some(c) => {
                self.next += 1;
                self.end_command(false);
            }
            '|' => {
                self.end_word();
                self.piped = true;
            }
            '&' => self.end_command(true),
            '<' if self.word.is_some() => self.placeholder(at),
            '<' | '>' => self.redirection(),
            '\'' | '"' if !self.closes_on_line(c) => self.text(c.encode_utf8(&mut [0; 4]), at),
            '\'' => {
                let text = self.take_while(|c| c != '\'');
                self.next += 1;
                self.text(&text, at);
            }
            '"' => self.double_quoted(at),
            '\\' => {
                if let Some((c, at)) = self.chars.get(self.next).copied() {
                    self.next += 1;
                    self.text(c.encode_utf8(&mut [0; 4]), at);
                }
            }
            '$' => self.dollar(at, false),
            '`' => {
                let inside = self.take_while(|c| c != '`' && c != '\n');
                self.next += 1;
                self.piece(Piece::Command(inside), at);
            }
            c => self.text(c.encode_utf8(&mut [0; 4]), at),
        }
        true
    }

    fn double_quoted(&mut self, at: At) {
        self.text("", at);
        while let Some((c, at)) = self.chars.get(self.next).copied() {
            self.next += 1;
            match c {
                '"' => return,
                '$' => self.dollar(at, true),
                '\\' if matches!(self.peek(0), Some('"' | '\\' | '$' | '`')) => {
                    let (c, at) = self.chars[self.next];
                    self.next += 1;
                    self.text(c.encode_utf8(&mut [0; 4]), at);
                }
                c => self.text(c.encode_utf8(&mut [0; 4]), at),
            }
        }
    }

    /// Behind a `$`.
    fn dollar(&mut self, at: At, quoted: bool) {
        let name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match self.peek(0) {
            Some('{') => {
                self.next += 1;
                let inside = self.take_while(|c| c != '}' && c != '\n');
                self.next += usize::from(self.peek(0) == Some('}'));
                let (name, default) = match inside.split_once(":-").or_else(|| inside.split_once('-')) {
                    Some((name, default)) => (name.to_string(), Some(default.to_string())),
                    None => (inside, None),
                };
                self.piece(Piece::Variable { name, default, quoted }, at);
            }
            Some('(') if self.peek(1) == Some('(') => {
                self.next += 2;
                let inside = self.balanced();
                self.next += usize::from(self.peek(0) == Some(')'));
                self.piece(Piece::Arithmetic(inside), at);
            }
            Some('(') => {
                self.next += 1;
                let inside = self.balanced();
                self.piece(Piece::Command(inside), at);
            }
            Some(c) if name_char(c) => {
                let name = self.take_while(name_char);
                self.piece(Piece::Variable { name, default: None, quoted }, at);
            }
            _ => self.text("$", at),
        }
    }

    /// Up to the parenthesis that closes, which is consumed.
    fn balanced(&mut self) -> String {
        let mut depth = 0_u32;
        let mut inside = String::new();
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            self.next += 1;
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => break,
                ')' => depth -= 1,
                _ => {}
            }
            inside.push(c);
        }
        inside
    }

    fn placeholder(&mut self, at: At) {
        let inside = self.take_while(|c| c != '>' && c != '\n');
        self.next += usize::from(self.peek(0) == Some('>'));
        self.piece(Piece::Placeholder(inside), at);
    }

    /// `> file`, `2>&1`, `< file`: what is meant is dropped.
    fn redirection(&mut self) {
        let descriptor = self.word.as_ref().is_some_and(|word| match word.pieces.as_slice() {
            [Piece::Text(text)] => text.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        });
        if descriptor {
            self.word = None;
        }
        self.end_word();
        self.take_while(|c| matches!(c, '>' | '<' | '&'));
        self.redirected = true;
    }

    fn text(&mut self, text: &str, at: At) {
        let word = self.word.get_or_insert_with(|| Word { pieces: Vec::new(), at, value_at: at });
        if word.value_at == word.at && text == "=" {
            word.value_at = At { column: at.column.saturating_add(1), ..at };
        }
        match word.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text),
            _ => word.pieces.push(Piece::Text(text.into())),
        }
    }

    fn piece(&mut self, piece: Piece, at: At) {
        let word = self.word.get_or_insert_with(|| Word { pieces: Vec::new(), at, value_at: at });
        word.pieces.push(piece);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            if !self.piped && !self.redirected {
                self.command.words.push(word);
                self.words += 1;
            }
            self.redirected = false;
        }
    }

    fn end_command(&mut self, background: bool) {
        self.end_word();
        (self.piped, self.redirected) = (false, false);
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() {
            self.commands.push(Command { background, ..command });
        }
    }
}
