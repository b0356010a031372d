//! Numbers and times as a reader wants them: three figures, a unit, and thin spaces in long ones. No browser here.

/// Thin no-break space, between a number and its unit and inside long numbers.
pub const THIN: char = '\u{202f}';

/// How a number is said: [`span`], [`short`] and the like.
pub type Say = fn(f64) -> String;

/// Three significant figures, without trailing zeros after the point.
fn figures(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A span of time: `820 ns`, `12.3 µs`, `4.56 ms`, `1.2 s`.
pub fn span(ns: f64) -> String {
    if !ns.is_finite() {
        return String::from("–");
    }
    let (value, unit) = match ns.abs() {
        v if v < 999.5 => (ns, "ns"),
        v if v < 999_500.0 => (ns / 1e3, "µs"),
        v if v < 999_500_000.0 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{}{THIN}{unit}", figures(value))
}

/// A moment of the run to the nanosecond, in milliseconds: `2.003 456 ms`.
pub fn moment(ns: u64) -> String {
    let (whole, part) = (ns / 1_000_000, ns % 1_000_000);
    format!("{}.{:03}{THIN}{:03}{THIN}ms", grouped(whole), part / 1000, part % 1000)
}

/// A whole number in groups of three: `18 432`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(c);
    }
    out
}

/// A rate or count with k, M or G: `1.6 M`, `840 k`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return String::from("–");
    }
    match value.abs() {
        v if v < 999.5 => figures(value),
        v if v < 999_500.0 => format!("{}{THIN}k", figures(value / 1e3)),
        v if v < 999_500_000.0 => format!("{}{THIN}M", figures(value / 1e6)),
        _ => format!("{}{THIN}G", figures(value / 1e9)),
    }
}

/// Bytes per second, as fio prints them: `6.25 GiB/s`.
pub fn bandwidth(bytes_per_s: f64) -> String {
    let (value, unit) = match bytes_per_s {
        v if v < 1024.0 => (v, "B/s"),
        v if v < 1024.0 * 1024.0 => (v / 1024.0, "KiB/s"),
        v if v < 1024.0 * 1024.0 * 1024.0 => (v / 1024.0 / 1024.0, "MiB/s"),
        v => (v / 1024.0 / 1024.0 / 1024.0, "GiB/s"),
    };
    format!("{}{THIN}{unit}", figures(value))
}

/// Bytes: `6.25 GiB`.
pub fn bytes(bytes: f64) -> String {
    bandwidth(bytes).replace("/s", "")
}

/// A share of one as percent: `43 %`, `4.3 %`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return String::from("–");
    }
    let value = share * 100.0;
    match value {
        v if v != 0.0 && v < 0.1 => format!("<{THIN}0.1{THIN}%"),
        v if v < 9.95 => format!("{v:.1}{THIN}%"),
        v => format!("{v:.0}{THIN}%"),
    }
}

/// Change from `a` to `b`, signed: `+16 %`, `−14 %`; nothing where it cannot be said.
pub fn change(a: f64, b: f64) -> Option<String> {
    (a > 0.0 && a.is_finite() && b.is_finite()).then(|| {
        let value = (b - a) / a * 100.0;
        let sign = if value < -0.05 { "−" } else { "+" };
        match value.abs() {
            v if v < 0.05 => format!("±0{THIN}%"),
            // From there on nobody reads per cent.
            v if v >= 2_000.0 => format!("×{THIN}{}", short(b / a)),
            v if v < 9.95 => format!("{sign}{v:.1}{THIN}%"),
            v => format!("{sign}{v:.0}{THIN}%"),
        }
    })
}

/// What one second on the wall is worth: `1 s = 20 µs`.
pub fn speed(ns_per_s: f64) -> String {
    format!("1{THIN}s = {}", span(ns_per_s))
}

/// Reads `20us`, `2.5 ms`, `1s`, `300` (ns). `None` if it is no time or above an hour.
pub fn parse_span(text: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "" | "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * factor;
    (value.is_finite() && (0.0..=3.6e12).contains(&value)).then_some(value)
}

/// Writes a time for a URL so that [`parse_span`] gives it back exactly: `2ms`, `20us`, `2003456ns`.
pub fn exact_span(ns: u64) -> String {
    match ns {
        0 => String::from("0"),
        n if n % 1_000_000_000 == 0 => format!("{}s", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => format!("{}ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}us", n / 1_000),
        n => format!("{n}ns"),
    }
}

/// A text with a capital letter at its head, unless that is a name: `sda: it ...`.
pub fn sentence_case(text: &str) -> String {
    if text.split_whitespace().next().is_none_or(|first| first.ends_with(':')) {
        return text.into();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(THIN, " ")
    }

    #[test]
    fn spans_have_three_figures_and_change_unit_before_four() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (820.0, "820 ns"),
            (999.6, "1 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1 ms"),
            (4_560_000.0, "4.56 ms"),
            (1.2e9, "1.2 s"),
        ] {
            assert_eq!(plain(&span(ns)), text);
        }
        assert_eq!(span(f64::NAN), "–");
    }

    #[test]
    fn moments_keep_every_nanosecond() {
        assert_eq!(plain(&moment(2_003_456)), "2.003 456 ms");
        assert_eq!(plain(&moment(1_234_000_001)), "1 234.000 001 ms");
    }

    #[test]
    fn exact_spans_come_back() {
        for ns in [0, 1, 999, 1_000, 20_000, 2_003_456, 2_000_000, 50_000_000, 3_000_000_000] {
            assert_eq!(parse_span(&exact_span(ns)), Some(ns as f64));
        }
        for text in ["", "ms", "1h", "-3", "1e999", "nan", "99999999999s"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }

    #[test]
    fn changes_are_signed_and_silent_without_a_base() {
        assert_eq!(plain(&change(100.0, 116.0).unwrap()), "+16 %");
        assert_eq!(plain(&change(100.0, 86.0).unwrap()), "−14 %");
        assert_eq!(plain(&change(1.0, 15_500.0).unwrap()), "× 15.5 k");
        assert_eq!(change(0.0, 5.0), None);
    }

    #[test]
    fn rates_are_short() {
        assert_eq!(plain(&short(1_597_000.0)), "1.6 M");
        assert_eq!(plain(&short(840_000.0)), "840 k");
        assert_eq!(plain(&short(12.0)), "12");
        assert_eq!(plain(&bandwidth(6.25 * 1024.0 * 1024.0 * 1024.0)), "6.25 GiB/s");
    }
}
