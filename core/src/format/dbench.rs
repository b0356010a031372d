//! The clients of dbench as text: `dbench clients=8 cpu_ns=25000000`.
//!
//! Words may stand on several lines; what follows `#` or `;` is a remark. Names are those of [`Dbench`]; what is not
//! named has its default. Bounds are checked where the simulation is built.

use crate::diag::{Diagnostic, nearest};
use crate::workload::{Dbench, LogWriter};

/// Most bytes of such a text.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// A value that a word can set.
trait Word: Sized {
    const FITS: &'static str;
    fn read(text: &str) -> Option<Self>;
    fn print(&self) -> String;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Word for $type {
            const FITS: &'static str = "a whole number";
            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn print(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
number!(u16, u32, u64);

impl Word for String {
    const FITS: &'static str = "a name";
    fn read(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }
    fn print(&self) -> String {
        self.clone()
    }
}

impl Word for LogWriter {
    const FITS: &'static str = "client, worker or kworker";
    fn read(text: &str) -> Option<Self> {
        match text {
            "client" => Some(Self::Client),
            "worker" => Some(Self::Worker),
            "kworker" => Some(Self::Kworker),
            _ => None,
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Client => "client".into(),
            Self::Worker => "worker".into(),
            Self::Kworker => "kworker".into(),
        }
    }
}

/// CPUs: `0,1,5`.
impl Word for Option<Vec<u16>> {
    const FITS: &'static str = "CPU numbers with commas between them";
    fn read(text: &str) -> Option<Self> {
        text.split(',').map(|cpu| cpu.parse().ok()).collect::<Option<Vec<u16>>>().map(Some)
    }
    fn print(&self) -> String {
        let cpus = self.as_deref().unwrap_or_default();
        cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
    }
}

macro_rules! words {
    ($($name:ident),*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Sets one field; the text says what would fit.
        fn set(spec: &mut Dbench, name: &str, value: &str) -> Result<(), String> {
            fn put<T: Word>(field: &mut T, name: &str, value: &str) -> Result<(), String> {
                let fits = || format!("'{value}' is no value for {name}; it takes {}.", T::FITS);
                *field = T::read(value).ok_or_else(fits)?;
                Ok(())
            }
            match name {
                $(stringify!($name) => put(&mut spec.$name, name, value),)*
                _ => {
                    let near = nearest(name, NAMES.iter().copied());
                    let hint = near.map(|near| format!(" Did you mean '{near}'?")).unwrap_or_default();
                    Err(format!("dbench has no '{name}'.{hint}"))
                }
            }
        }

        /// The words that [`parse`] takes back; values that are the default are left out, but the clients.
        pub fn print(spec: &Dbench) -> String {
            let usual = Dbench { clients: 0, ..Dbench::default() };
            let mut out = String::from("dbench");
            $(if spec.$name != usual.$name {
                out += &format!(" {}={}", stringify!($name), Word::print(&spec.$name));
            })*
            out + "\n"
        }
    };
}

words!(
    clients,
    name,
    disk,
    executions,
    segments,
    cpu_ns,
    cpu_spread_percent,
    data_bytes,
    log_bytes,
    log_buffer_bytes,
    log_buffers,
    log_writer,
    cpus_allowed
);

/// Words with their line and column in characters, from 1.
fn words(text: &str) -> impl Iterator<Item = (u32, u32, &str)> {
    text.lines().zip(1..).flat_map(|(line, at)| {
        let code = line.find(['#', ';']).map_or(line, |end| &line[..end]);
        code.split_whitespace().map(move |word| {
            let before = word.as_ptr() as usize - line.as_ptr() as usize;
            (at, line[..before].chars().count() as u32 + 1, word)
        })
    })
}

/// Whether a text is of this form: its first word is `dbench`.
pub fn is_dbench(text: &str) -> bool {
    words(text).next().is_some_and(|(_, _, word)| word == "dbench")
}

/// Reads the words.
///
/// # Errors
/// One for each word that cannot be used, with its place.
pub fn parse(text: &str) -> Result<Dbench, Vec<Diagnostic>> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("The text has {} bytes; at most {TEXT_BYTES_MAX} are read.", text.len());
        return Err(vec![Diagnostic::error(0, 0, message, "")]);
    }
    let mut spec = Dbench::default();
    let mut findings = Vec::new();
    for (line, column, word) in words(text).skip(1).take(4 * NAMES.len()) {
        let short: String = word.chars().take(60).collect();
        let problem = match short.split_once('=') {
            Some((name, value)) => set(&mut spec, name, value).err(),
            None => Some(format!("'{short}' is no setting.")),
        };
        if let Some(problem) = problem {
            findings.push(Diagnostic::error(line, column, problem, "Write name=value, as in clients=8."));
        }
    }
    if findings.is_empty() { Ok(spec) } else { Err(findings) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let spec = Dbench {
            clients: 1,
            log_writer: LogWriter::Worker,
            cpus_allowed: Some(vec![0, 5]),
            data_bytes: 512,
            ..Dbench::default()
        };
        let text = print(&spec);
        assert_eq!(text, "dbench clients=1 data_bytes=512 log_writer=worker cpus_allowed=0,5\n");
        assert!(is_dbench(&text));
        assert_eq!(parse(&text), Ok(spec));
    }

    #[test]
    fn a_slip_is_named_with_its_place() {
        let findings = parse("# a remark\ndbench clients=8\n  segmants=43 name").expect_err("a slip");
        assert_eq!(findings.iter().map(|f| (f.line, f.column)).collect::<Vec<_>>(), [(3, 3), (3, 15)]);
        assert!(findings[0].message.contains("segments"), "{}", findings[0].message);
    }
}
