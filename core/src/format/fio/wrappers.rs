//! What stands before fio on a command line: `sudo`, `numactl -N 1`, `taskset -c 0-3`, `VAR=value`.

use super::shell::{Reader, assigned_name};
use super::source::{At, Entry};
use super::words::Word;
use crate::format::text::quote;

impl Reader<'_, '_> {
    /// What stands before fio: assignments, and programs that start it. Gives options that say the same to fio.
    pub(super) fn wrappers(&mut self, words: &[Word]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let (mut program, mut pending) = (String::new(), None);
        for word in words {
            if assigned_name(word).is_some() {
                self.assign(word);
                continue;
            }
            let filled = self.fill(word);
            let text = filled.text.as_str();
            let entry = |name: &str, value: &str| Entry {
                name: name.into(),
                value: Some(value.into()),
                at: filled.at,
                value_at: filled.at,
                missing: filled.missing,
                blank_before_value: false,
            };
            if let Some(option) = pending.take() {
                entries.push(entry(option, text));
                continue;
            }
            let (flag, value) =
                text.split_once('=').map_or((text, None), |(flag, value)| (flag, Some(value)));
            let bind = match (program.as_str(), flag) {
                ("numactl", "-N" | "--cpunodebind") => Some("numa_cpu_nodes"),
                ("numactl", "-C" | "--physcpubind") | ("taskset", "-c" | "--cpu-list") => {
                    Some("cpus_allowed")
                }
                _ => None,
            };
            match (bind, value) {
                (Some(option), Some(value)) => entries.push(entry(option, value)),
                (Some(option), None) => pending = Some(option),
                (None, _) if program == "numactl" && text.starts_with("-N") => {
                    entries.push(entry("numa_cpu_nodes", &text[2..]));
                }
                (None, _) if program == "taskset" && text.starts_with("0x") => {
                    entries.push(entry("cpumask", text))
                }
                (None, _) if text.starts_with('-') => {}
                (None, _) => self.wrapper(text, &mut program, filled.at),
            }
        }
        entries
    }

    fn wrapper(&mut self, text: &str, program: &mut String, at: At) {
        match text {
            "do" | "then" | "else" | "for" | "while" | "until" | "if" => self.error(
                at,
                format!("fio stands inside '{text}': the shell's loops and conditions are not followed."),
                "Write each fio command out.",
            ),
            "sudo" | "numactl" | "taskset" | "env" | "time" | "nohup" | "exec" | "command" | "nice"
            | "ionice" | "chrt" | "timeout" | "stdbuf" => *program = text.into(),
            // An operand of such a program: a user, a time, a node.
            _ if !program.is_empty() => {}
            other => self.warn(at, format!("'{}' before fio is ignored.", quote(other)), ""),
        }
    }
}
