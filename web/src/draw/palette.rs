//! Colours of the stage: the page's design tokens (`public/tokens.css`) as numbers, and how well they can be told
//! apart.
//!
//! A colour says where a request is in its life, and always goes with a shape or a place that says the same. The
//! hues follow Okabe and Ito's order (blue, purple, orange, green, vermilion), moved in lightness until each stands
//! out against its ground by at least 3:1, text by 4.5:1; tests below compute both.

/// A colour without transparency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// From `0xrrggbb`.
    pub const fn hex(rgb: u32) -> Self {
        Self((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8)
    }

    /// CSS text, with this opacity.
    pub fn css(self, alpha: f32) -> String {
        if alpha >= 1.0 {
            format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
        } else {
            format!("rgba({},{},{},{:.3})", self.0, self.1, self.2, alpha.max(0.0))
        }
    }

    /// Relative luminance (WCAG 2.2).
    pub fn luminance(self) -> f64 {
        let part = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(self.0) + 0.7152 * part(self.1) + 0.0722 * part(self.2)
    }

    /// Contrast ratio with another colour (WCAG 2.2), 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// This colour with `share` of `other` mixed in.
    pub fn mix(self, other: Self, share: f32) -> Self {
        let part = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share).round() as u8;
        Self(part(self.0, other.0), part(self.1, other.1), part(self.2, other.2))
    }
}

/// What a mark is about; each has its colour and its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tone {
    /// Being submitted, or in a plug (before `I`).
    Submit,
    /// In a ctx list, on a dispatch list, in a dispatcher's hand (`I` to `D`).
    Queued,
    /// With driver and device (`D` to `C`).
    Device,
    /// Completed, on its way back.
    Back,
    /// Refused by the driver, or a lock that CPUs spin for.
    Trouble,
    /// A bio that waits for a tag.
    Idle,
}

impl Tone {
    /// All of them, in order of their numbers.
    pub const ALL: [Tone; 6] =
        [Tone::Submit, Tone::Queued, Tone::Device, Tone::Back, Tone::Trouble, Tone::Idle];
}

/// The colours of one theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Ground of the page.
    pub paper: Rgb,
    /// Ground of the stage.
    pub surface: Rgb,
    /// Ground of trays and boxes in it.
    pub sunken: Rgb,
    /// Thin rules; decoration only.
    pub line: Rgb,
    /// Outlines that carry meaning.
    pub edge: Rgb,
    /// Text.
    pub ink: Rgb,
    /// Text of second rank.
    pub ink_2: Rgb,
    /// Labels and captions.
    pub ink_3: Rgb,
    /// The one accent: selection.
    pub accent: Rgb,
    /// Ground of what is selected.
    pub wash: Rgb,
    /// Marks, by [`Tone`].
    pub tones: [Rgb; 6],
}

impl Palette {
    /// Light theme.
    pub const LIGHT: Palette = Palette {
        paper: Rgb::hex(0xf3f1ec),
        surface: Rgb::hex(0xfdfcfa),
        sunken: Rgb::hex(0xeae7df),
        line: Rgb::hex(0xd8d4ca),
        edge: Rgb::hex(0x84837a),
        ink: Rgb::hex(0x1a222b),
        ink_2: Rgb::hex(0x47515b),
        ink_3: Rgb::hex(0x5f6870),
        accent: Rgb::hex(0x1d5c9e),
        wash: Rgb::hex(0xe3ebf3),
        tones: [
            Rgb::hex(0x1f63a8),
            Rgb::hex(0x8f5e00),
            Rgb::hex(0x7a4ea6),
            Rgb::hex(0x0b7468),
            Rgb::hex(0xb8371b),
            Rgb::hex(0x616b75),
        ],
    };

    /// Dark theme.
    pub const DARK: Palette = Palette {
        paper: Rgb::hex(0x10151a),
        surface: Rgb::hex(0x181f26),
        sunken: Rgb::hex(0x0b0f13),
        line: Rgb::hex(0x2c363f),
        edge: Rgb::hex(0x6f7c87),
        ink: Rgb::hex(0xe9ecef),
        ink_2: Rgb::hex(0xb7c0c8),
        ink_3: Rgb::hex(0x95a0aa),
        accent: Rgb::hex(0x7fb8f0),
        wash: Rgb::hex(0x1d2c3b),
        tones: [
            Rgb::hex(0x78b4f0),
            Rgb::hex(0xe2ad52),
            Rgb::hex(0xc3a0ea),
            Rgb::hex(0x4fc4b2),
            Rgb::hex(0xff8d6b),
            Rgb::hex(0x97a3ad),
        ],
    };

    /// The colour of a mark.
    pub fn tone(&self, tone: Tone) -> Rgb {
        self.tones[tone as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The design tokens as the page has them: name, light, dark.
    fn tokens() -> Vec<(String, Rgb, Rgb)> {
        include_str!("../../../public/tokens.css")
            .lines()
            .filter_map(|line| {
                let (name, value) = line.trim().strip_prefix("--")?.split_once(": light-dark(#")?;
                let (light, dark) = value.strip_suffix(");")?.split_once(", #")?;
                let rgb = |hex: &str| u32::from_str_radix(hex, 16).ok().map(Rgb::hex);
                Some((name.to_string(), rgb(light)?, rgb(dark)?))
            })
            .collect()
    }

    #[test]
    fn colours_are_the_page_s_tokens() {
        let named = |p: &Palette| {
            let t = p.tones;
            [
                ("paper", p.paper),
                ("surface", p.surface),
                ("sunken", p.sunken),
                ("line", p.line),
                ("edge", p.edge),
                ("ink", p.ink),
                ("ink-2", p.ink_2),
                ("ink-3", p.ink_3),
                ("accent", p.accent),
                ("wash", p.wash),
                ("blue", t[0]),
                ("ochre", t[1]),
                ("violet", t[2]),
                ("teal", t[3]),
                ("red", t[4]),
                ("grey", t[5]),
            ]
        };
        let tokens = tokens();
        for ((name, light), (_, dark)) in named(&Palette::LIGHT).into_iter().zip(named(&Palette::DARK)) {
            let token =
                tokens.iter().find(|(n, ..)| n == name).unwrap_or_else(|| panic!("no token --{name}"));
            assert_eq!((token.1, token.2), (light, dark), "--{name}");
        }
    }

    #[test]
    fn text_and_marks_stand_out_from_every_ground_they_are_drawn_on() {
        for p in [Palette::LIGHT, Palette::DARK] {
            for ground in [p.paper, p.surface, p.sunken, p.wash] {
                for (name, text) in [("ink", p.ink), ("ink-2", p.ink_2), ("ink-3", p.ink_3)] {
                    let ratio = text.contrast(ground);
                    assert!(ratio >= 4.5, "{name} {text:?} on {ground:?}: {ratio:.2}");
                }
                for mark in p.tones.into_iter().chain([p.accent, p.edge]) {
                    let ratio = mark.contrast(ground);
                    assert!(ratio >= 3.0, "mark {mark:?} on {ground:?}: {ratio:.2}");
                }
            }
        }
    }

    /// Machado, Oliveira and Fernandes (2009), severity 1.0, applied to linear RGB.
    fn as_seen(c: Rgb, m: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let v = [linear(c.0), linear(c.1), linear(c.2)];
        std::array::from_fn(|i| (0..3).map(|j| m[i][j] * v[j]).sum::<f64>().clamp(0.0, 1.0))
    }

    /// CIE L*a*b* distance (1976) of two colours as linear RGB.
    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        let lab = |[r, g, b]: [f64; 3]| {
            let xyz = [
                (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
                0.2126 * r + 0.7152 * g + 0.0722 * b,
                (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
            ];
            let [x, y, z] = xyz.map(|t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
            [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
        };
        let (a, b) = (lab(a), lab(b));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn neighbouring_states_differ_for_colour_blind_eyes() {
        let normal = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let protan = [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ];
        let deutan = [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ];
        // Pairs that meet in one place of the picture; the others are also told apart by where they are.
        let pairs = [
            (Tone::Submit, Tone::Queued),
            (Tone::Queued, Tone::Device),
            (Tone::Submit, Tone::Trouble),
            (Tone::Submit, Tone::Back),
            (Tone::Device, Tone::Trouble),
        ];
        for p in [Palette::LIGHT, Palette::DARK] {
            for (a, b) in pairs {
                for m in [normal, protan, deutan] {
                    let far = distance(as_seen(p.tone(a), m), as_seen(p.tone(b), m));
                    assert!(far > 12.0, "{a:?} and {b:?} are {far:.1} apart");
                }
            }
        }
    }
}
