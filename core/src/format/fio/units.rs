//! fio's numbers: bytes, percent and times, as `str_to_decimal` of fio's parse.c reads them, but without its
//! silence: where fio would ignore a part of the value (a fraction, an unknown unit), that is an error here.

use super::super::text::quote;
use crate::workload::Amount;

/// What is wrong with a value, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) remedy: String,
}

pub(super) fn problem(message: impl Into<String>, remedy: impl Into<String>) -> Problem {
    Problem { message: message.into(), remedy: remedy.into() }
}

/// A number of bytes (or of anything that takes the same units).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: u64,
    /// fio 3.33 reads the same text as this other number.
    pub(super) fio_value: Option<u64>,
}

/// Splits `text` into its digits' value and its unit in lower case.
fn split(text: &str) -> Result<(u64, String), Problem> {
    let shown = quote(text);
    if text.is_empty() {
        return Err(problem("The value is missing.", "Write a number after '='."));
    }
    if text.starts_with('-') {
        return Err(problem(format!("'{shown}' is negative."), "Write a number from 0 up."));
    }
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits_from, radix) = hex.map_or((text, 10), |rest| (rest, 16));
    let end = digits_from.find(|c: char| !c.is_digit(radix)).unwrap_or(digits_from.len());
    let (digits, unit) = digits_from.split_at(end);
    if digits.is_empty() {
        return Err(problem(format!("'{shown}' is not a number."), "Write digits, then a unit if needed."));
    }
    let value = u64::from_str_radix(digits, radix)
        .map_err(|_| problem(format!("'{shown}' is too large."), "Write a smaller number."))?;
    if unit.starts_with('.') || unit.starts_with(['e', 'E']) {
        return Err(problem(
            format!("'{shown}': fio reads whole numbers only and would take {digits}."),
            "Write a whole number in a smaller unit.",
        ));
    }
    if unit.starts_with(char::is_whitespace) {
        return Err(problem(
            format!("'{shown}': fio stops at the blank and would take {digits} without the unit."),
            "Take the blank out.",
        ));
    }
    Ok((value, unit.to_lowercase()))
}

fn times(text: &str, value: u64, factor: u64) -> Result<u64, Problem> {
    value
        .checked_mul(factor)
        .filter(|product| i64::try_from(*product).is_ok())
        .ok_or_else(|| problem(format!("'{}' is too large.", quote(text)), "Write a smaller number."))
}

/// Bytes: `4096`, `4k`, `4kb`, `64KiB`, `1g`, `0x1000`. `kb_base` is 1024 or 1000.
///
/// With fio's default kb_base of 1024, `k` and `kb` are 1024 and `kib` is 1000. Whoever writes KiB means 1024,
/// so that is what they get, with what fio would have made of it beside it.
pub(super) fn bytes(text: &str, kb_base: u64) -> Result<Number, Problem> {
    let (value, unit) = split(text)?;
    let power = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" if unit != "ib" => 0,
        "k" | "ki" => 1,
        "m" | "mi" => 2,
        "g" | "gi" => 3,
        "t" | "ti" => 4,
        "p" | "pi" => 5,
        _ => {
            return Err(problem(
                format!("'{}': '{}' is not a unit of size.", quote(text), quote(&unit)),
                "Units are k, m, g, t and p.",
            ));
        }
    };
    let binary = unit.ends_with("ib");
    let base = if binary { 1024 } else { kb_base };
    let value = |base: u64| times(text, value, base.pow(power));
    let fio_value = if binary && kb_base == 1024 { Some(value(1000)?) } else { None };
    Ok(Number { value: value(base)?, fio_value })
}

/// Bytes, or a whole percentage of the file (`25%`).
pub(super) fn amount(text: &str, kb_base: u64) -> Result<(Amount, Option<u64>), Problem> {
    let Some(number) = text.strip_suffix('%') else {
        let number = bytes(text, kb_base)?;
        return Ok((Amount::Bytes(number.value), number.fio_value));
    };
    let (percent, unit) = split(number)?;
    match u8::try_from(percent) {
        Ok(percent @ 0..=100) if unit.is_empty() => Ok((Amount::Percent(f64::from(percent)), None)),
        _ => Err(problem(format!("'{}' is not 0% to 100%.", quote(text)), "Write for example 25%.")),
    }
}

/// A time in ns: `us`, `ms`, `s`, `m`, `h`, `d`, with `default_ns` for a bare number.
pub(super) fn time_ns(text: &str, default_ns: u64) -> Result<u64, Problem> {
    let (value, unit) = split(text)?;
    const SECOND: u64 = 1_000_000_000;
    let factor = match unit.as_str() {
        "" => default_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        "d" => 86_400 * SECOND,
        other => {
            return Err(problem(
                format!("'{}': '{}' is not a unit of time.", quote(text), quote(other)),
                "Units are us, ms, s, m, h and d; for example 90s or 5m.",
            ));
        }
    };
    times(text, value, factor)
}

/// An integer expression with `+ - * / %`, parentheses and decimal numbers, for the shell's `$((4*8))` and for
/// fio's keywords (`2*$ncpus`).
pub(super) fn arithmetic(text: &str) -> Option<i64> {
    let mut at = Arithmetic { rest: text.as_bytes(), depth: 0 };
    let value = at.sum()?;
    at.blanks();
    at.rest.is_empty().then_some(value)
}

struct Arithmetic<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl Arithmetic<'_> {
    /// Nesting beyond this is not written by people, and would eat the stack.
    const DEPTH_MAX: u32 = 50;

    fn blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        self.blanks();
        let (first, rest) = self.rest.split_first()?;
        if !wanted.contains(first) {
            return None;
        }
        self.rest = rest;
        Some(*first)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign) = self.one_of(b"+-") {
            let next = self.product()?;
            value = if sign == b'+' { value.checked_add(next)? } else { value.checked_sub(next)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        while let Some(sign) = self.one_of(b"*/%") {
            let next = self.factor()?;
            value = match sign {
                b'*' => value.checked_mul(next)?,
                b'/' => value.checked_div(next)?,
                _ => value.checked_rem(next)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > Self::DEPTH_MAX {
            return None;
        }
        let value = match self.one_of(b"(-+") {
            Some(b'(') => {
                let value = self.sum()?;
                self.one_of(b")").map(|_| value)
            }
            Some(b'-') => self.factor()?.checked_neg(),
            Some(_) => self.factor(),
            None => self.number(),
        };
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Option<i64> {
        let end = self.rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }
}
