//! Colours for light and dark pages that colour-blind readers can tell apart.
//!
//! The hues of the series are those of Okabe and Ito, made lighter or darker for the page. Tests check the contrast of
//! each colour to the page and to text on it. They also check how different the colours are for people without red,
//! green or blue cones.

use std::fmt::Write as _;

/// The number of series with a colour of their own. Further series repeat the colours with stripes, then with dots.
pub const SERIES: usize = 7;

/// The colour of an element, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Page,
    /// Headings, names and values.
    Ink,
    /// Notes and ticks.
    Muted,
    /// Lines of axes and grids.
    Grid,
    Free,
    /// The series with this number, counted from 0.
    Series(usize),
    /// Text on top of the colour of this series.
    Upon(usize),
    /// Waiting applications and stranded capacity.
    Warning,
}

/// One colour on a light page and on a dark page, each `#rrggbb`.
type Shade = (&'static str, &'static str);

const PAGE: Shade = ("#ffffff", "#0d1117");
const INK: Shade = ("#1f2328", "#e6edf3");
const MUTED: Shade = ("#59636e", "#9198a1");
const GRID: Shade = ("#d1d9e0", "#3d444d");
const FREE: Shade = ("#eff2f5", "#21262d");
const WARNING: Shade = ("#b3261e", "#ff8f87");

/// For each series, its colour and the colour of text on it.
const SHADES: [(Shade, Shade); SERIES] = [
    (("#0562a7", "#3d8de1"), (WHITE, BLACK)),
    (("#de8704", "#f5b13e"), (BLACK, BLACK)),
    (("#15a66e", "#29d794"), (BLACK, BLACK)),
    (("#bd62a0", "#d086ae"), (BLACK, BLACK)),
    (("#54aee4", "#b5e3fb"), (BLACK, BLACK)),
    (("#8a3510", "#d2622f"), (WHITE, BLACK)),
    (("#525a63", "#7b7b81"), (WHITE, BLACK)),
];
const WHITE: &str = "#ffffff";
const BLACK: &str = "#000000";

impl Paint {
    /// The CSS class of elements that are filled with this paint.
    pub(super) fn fill(self) -> String {
        match self {
            Self::Page => "page".to_owned(),
            Self::Ink => "ink".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Free => "free".to_owned(),
            Self::Series(number) => format!("s{}", number % SERIES),
            Self::Upon(number) => format!("u{}", number % SERIES),
            Self::Warning => "warning".to_owned(),
        }
    }

    /// The CSS class of lines in this paint.
    pub(super) fn stroke(self) -> String {
        format!("l-{}", self.fill())
    }

    /// Whether a pattern is laid over the colour.
    #[must_use]
    pub fn is_patterned(self) -> bool {
        self.pattern().is_some()
    }

    /// The pattern over a series whose colour an earlier series already has.
    pub(super) fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Series(number) => match number / SERIES {
                0 => None,
                odd if odd % 2 == 1 => Some("stripes"),
                _ => Some("dots"),
            },
            Self::Page
            | Self::Ink
            | Self::Muted
            | Self::Grid
            | Self::Free
            | Self::Upon(_)
            | Self::Warning => None,
        }
    }
}

/// The style sheet: a class for each paint, and dark versions for viewers that prefer a dark page.
pub(super) fn style() -> String {
    colours("")
}

/// The style sheet with the selector `before` before each class, for pictures inside a page that has its own style
/// sheet.
#[must_use]
pub fn colours(before: &str) -> String {
    let of = |choose: fn(Shade) -> &'static str| {
        let mut rules = String::new();
        for (name, shade) in shades() {
            let colour = choose(shade);
            write!(rules, "{before}.{name}{{fill:{colour}}}{before}.l-{name}{{fill:none;stroke:{colour}}}")
                .expect("a text takes it");
        }
        let page = choose(PAGE);
        write!(rules, "{before}.over{{stroke:{page};fill:{page};stroke-opacity:.55;fill-opacity:.55}}")
            .expect("a text takes it");
        rules
    };
    let (light, dark) = (of(|shade| shade.0), of(|shade| shade.1));
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

fn shades() -> Vec<(String, Shade)> {
    let plain = [
        (Paint::Page, PAGE),
        (Paint::Ink, INK),
        (Paint::Muted, MUTED),
        (Paint::Grid, GRID),
        (Paint::Free, FREE),
        (Paint::Warning, WARNING),
    ];
    let series = SHADES.into_iter().enumerate().flat_map(|(number, (shade, (on_light, on_dark)))| {
        [(Paint::Series(number), shade), (Paint::Upon(number), (on_light, on_dark))]
    });
    plain.into_iter().chain(series).map(|(paint, shade)| (paint.fill(), shade)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue as amounts of light, each from 0 to 1.
    type Light = [f64; 3];

    fn light(colour: &str) -> Light {
        [1, 3, 5].map(|at| {
            let byte = u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits");
            let part = f64::from(byte) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let bright = |colour| {
            let [red, green, blue] = light(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (one, other) = (bright(one), bright(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// Models of colour vision: ordinary vision, then vision without red, green and blue cones.
    ///
    /// Source: Machado, Oliveira and Fernandes (2009).
    const CONES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    fn seen(by: &[[f64; 3]; 3], colour: &str) -> Light {
        let light = light(colour);
        by.map(|row| row.iter().zip(light).map(|(part, light)| part * light).sum::<f64>().clamp(0.0, 1.0))
    }

    /// The visible difference between two colours in Ottosson's OKLab. The difference between black and white is 1.
    fn distance(one: Light, other: Light) -> f64 {
        let lab = |[red, green, blue]: Light| {
            let long = (0.412_221 * red + 0.536_333 * green + 0.051_446 * blue).cbrt();
            let middle = (0.211_903 * red + 0.680_700 * green + 0.107_397 * blue).cbrt();
            let short = (0.088_302 * red + 0.281_719 * green + 0.629_979 * blue).cbrt();
            [
                0.210_454 * long + 0.793_618 * middle - 0.004_072 * short,
                1.977_998 * long - 2.428_592 * middle + 0.450_594 * short,
                0.025_904 * long + 0.782_772 * middle - 0.808_676 * short,
            ]
        };
        let (one, other) = (lab(one), lab(other));
        one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn everything_is_legible_on_light_and_dark_pages() {
        for side in [|shade: Shade| shade.0, |shade: Shade| shade.1] {
            let page = side(PAGE);
            for text in [INK, MUTED, WARNING] {
                assert!(contrast(side(text), page) >= 4.5, "{text:?} on {page}");
            }
            for (series, upon) in SHADES {
                let (series, upon) = (side(series), side(upon));
                assert!(contrast(series, page) >= 2.4, "{series} on {page}: {}", contrast(series, page));
                assert!(contrast(upon, series) >= 4.5, "{upon} on {series}: {}", contrast(upon, series));
            }
        }
    }

    #[test]
    fn colour_blind_readers_can_tell_the_series_apart() {
        for side in [|shade: Shade| shade.0, |shade: Shade| shade.1] {
            for by in &CONES {
                for (number, (one, _)) in SHADES.iter().enumerate() {
                    for (other, _) in &SHADES[number + 1..] {
                        let (one, other) = (side(*one), side(*other));
                        let apart = distance(seen(by, one), seen(by, other));
                        assert!(apart >= 0.075, "{one} and {other} are {apart:.3} apart for {by:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn series_beyond_the_colours_have_patterns() {
        let looks: Vec<_> =
            (0..3 * SERIES).map(|n| (Paint::Series(n).fill(), Paint::Series(n).pattern())).collect();
        let mut apart = looks.clone();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), looks.len());
    }
}
