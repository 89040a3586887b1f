//! A chart of a result, as SVG that the template writes.

use crate::json::Json;
use crate::text;

/// The size of the SVG and of its drawing area.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 44.0;

/// The maximum number of points.
const MAX_POINTS: usize = 500;
/// The maximum number of labels of the horizontal axis.
const MAX_LABELS: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bar,
    Line,
    Points,
}

impl Kind {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "bar" => Some(Self::Bar),
            "line" => Some(Self::Line),
            "points" => Some(Self::Points),
            _ => None,
        }
    }
}

/// The marks of a chart.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) bars: Vec<Bar>,
    /// The points of the line.
    pub(crate) line: String,
    pub(crate) points: Vec<Mark>,
    /// The labels of the vertical axis.
    pub(crate) ticks: Vec<Mark>,
    /// The labels of the horizontal axis.
    pub(crate) labels: Vec<Mark>,
    pub(crate) is_cut: bool,
    pub(crate) left: f64,
    pub(crate) right: f64,
}

#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) width: String,
    pub(crate) height: String,
    pub(crate) text: String,
}

/// A place with a text.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) text: String,
}

/// A column of a result that can be an axis.
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) is_numeric: bool,
}

/// The columns of a result, and whether they are numbers.
pub(crate) fn axes(rowset: &Json) -> Vec<Axis> {
    let rows = rowset.items("rows");
    let columns = rowset.items("columns").iter().enumerate();
    let axis = |(index, column): (usize, &Json)| {
        let values = rows.iter().filter_map(|row| row.as_array()?.get(index));
        let mut values = values.filter(|value| !matches!(value, Json::Null)).peekable();
        let is_numeric = values.peek().is_some() && values.all(|value| value.as_f64().is_some());
        Axis { name: column.text("name"), is_numeric }
    };
    columns.map(axis).collect()
}

impl Chart {
    /// The chart of two columns of a result. `None` if there is nothing to draw.
    pub(crate) fn of(rowset: &Json, kind: Kind, x: usize, y: usize) -> Option<Self> {
        let columns = rowset.items("columns");
        let names = (columns.get(x)?.text("name"), columns.get(y)?.text("name"));
        let rows = rowset.items("rows");
        let values = rows.iter().filter_map(|row| {
            let row = row.as_array()?;
            Some((row.get(x)?, row.get(y)?.as_f64().filter(|value| value.is_finite())?))
        });
        let values: Vec<(&Json, f64)> = values.take(MAX_POINTS).collect();
        if values.is_empty() {
            return None;
        }
        let scale = Scale::of(values.iter().map(|(_, value)| *value));
        // Numbers are placed by their value, other values next to each other.
        let numbers: Option<Vec<f64>> = values.iter().map(|(label, _)| label.as_f64()).collect();
        let horizontal = match (&numbers, kind) {
            (Some(numbers), Kind::Line | Kind::Points) if values.len() > 1 => {
                Horizontal::numbers(numbers)
            }
            _ => Horizontal::Slots(values.len()),
        };
        let mut chart = Self {
            title: format!("{} by {}", names.1, names.0),
            is_cut: rows.len() > MAX_POINTS,
            left: LEFT,
            right: WIDTH - RIGHT,
            ..Self::default()
        };
        for tick in scale.ticks() {
            let y = fixed(scale.y(tick));
            chart.ticks.push(Mark { x: fixed(LEFT - 8.0), y, text: short(tick) });
        }
        let step = values.len().div_ceil(MAX_LABELS);
        for (index, (label, value)) in values.iter().enumerate() {
            let x = horizontal.x(index, numbers.as_ref().map(|numbers| numbers[index]));
            let y = scale.y(*value);
            let label = label.plain();
            let text = format!("{}: {value}", text::beginning(&label, 60).0);
            if matches!(horizontal, Horizontal::Slots(_)) && index % step == 0 {
                let (text, is_cut) = text::beginning(&label, 12);
                let text = format!("{text}{}", if is_cut { "…" } else { "" });
                chart.labels.push(Mark { x: fixed(x), y: fixed(HEIGHT - BOTTOM + 18.0), text });
            }
            if kind == Kind::Bar {
                let slot = (WIDTH - LEFT - RIGHT) / values.len() as f64;
                let width = (slot * 0.7).clamp(1.0, 56.0);
                let zero = scale.y(0.0_f64.clamp(scale.low, scale.high));
                chart.bars.push(Bar {
                    x: fixed(x - width / 2.0),
                    y: fixed(y.min(zero)),
                    width: fixed(width),
                    height: fixed((y - zero).abs().max(0.5)),
                    text,
                });
            } else {
                chart.points.push(Mark { x: fixed(x), y: fixed(y), text });
            }
        }
        if let Horizontal::Numbers { low, high } = horizontal {
            for tick in (Scale { low, high }).ticks() {
                let x = fixed(horizontal.x(0, Some(tick)));
                let y = fixed(HEIGHT - BOTTOM + 18.0);
                chart.labels.push(Mark { x, y, text: short(tick) });
            }
        }
        if kind == Kind::Line {
            let points = chart.points.iter().map(|point| format!("{},{}", point.x, point.y));
            chart.line = points.collect::<Vec<_>>().join(" ");
            if chart.points.len() > 60 {
                chart.points.clear();
            }
        }
        Some(chart)
    }
}

enum Horizontal {
    Slots(usize),
    Numbers { low: f64, high: f64 },
}

impl Horizontal {
    fn numbers(numbers: &[f64]) -> Self {
        let (low, high) = bounds(numbers.iter().copied());
        Self::Numbers { low, high: if high > low { high } else { low + 1.0 } }
    }

    fn x(&self, index: usize, number: Option<f64>) -> f64 {
        let share = match self {
            Self::Slots(count) => (index as f64 + 0.5) / *count as f64,
            Self::Numbers { low, high } => (number.unwrap_or(*low) - low) / (high - low),
        };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }
}

/// The vertical scale, which includes zero.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values);
        let (low, high) = (low.min(0.0), high.max(0.0));
        if high > low { Self { low, high } } else { Self { low, high: low + 1.0 } }
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// Round numbers between the bounds.
    fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let magnitude = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|one| one * magnitude >= rough);
        let step = factor.unwrap_or(10.0) * magnitude;
        let first = (self.low / step).ceil() as i64;
        (first..)
            .take(12)
            .map(|index| index as f64 * step)
            .take_while(|one| *one <= self.high)
            .collect()
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

fn fixed(number: f64) -> String {
    format!("{number:.1}")
}

/// A number of an axis with a unit.
fn short(number: f64) -> String {
    let (amount, unit) = match number.abs() {
        size if size >= 1e9 => (number / 1e9, "G"),
        size if size >= 1e6 => (number / 1e6, "M"),
        size if size >= 1e4 => (number / 1e3, "k"),
        _ => (number, ""),
    };
    let text = format!("{amount:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rowset(rows: &str) -> Json {
        let json = format!(r#"{{"columns":[{{"name":"k"}},{{"name":"n"}}],"rows":{rows}}}"#);
        Json::parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn bars_have_the_height_of_their_values() {
        let rowset = rowset(r#"[["a",10],["b",null],["c",-10],["<d>",0]]"#);
        let chart = Chart::of(&rowset, Kind::Bar, 0, 1).unwrap();
        let heights: Vec<&str> = chart.bars.iter().map(|bar| &*bar.height).collect();
        assert_eq!(heights, ["130.0", "130.0", "0.5"]);
        assert_eq!(chart.bars[2].text, "<d>: 0");
        let ticks: Vec<&str> = chart.ticks.iter().map(|tick| &*tick.text).collect();
        assert_eq!(ticks, ["-10", "-5", "0", "5", "10"]);
        assert_eq!(chart.title, "n by k");
    }

    #[test]
    fn lines_place_numbers_by_value() {
        let chart = Chart::of(&rowset("[[0,1],[10,2],[40,3]]"), Kind::Line, 0, 1).unwrap();
        assert_eq!(chart.line, "64.0,189.3 284.0,102.7 944.0,16.0");
        assert!(Chart::of(&rowset("[]"), Kind::Line, 0, 1).is_none());
        assert!(Chart::of(&rowset(r#"[["a","b"]]"#), Kind::Line, 0, 1).is_none());
        assert!(Chart::of(&rowset("[[1,1]]"), Kind::Points, 0, 7).is_none());
    }

    #[test]
    fn numbers_of_axes_are_short() {
        let texts = [0.0, 0.25, 9_000.0, 12_500.0, 3.5e6, -2e9].map(short);
        assert_eq!(texts, ["0", "0.25", "9000", "12.5k", "3.5M", "-2G"]);
        let constant = Scale::of([0.0, 0.0].into_iter());
        assert_eq!((constant.low, constant.high), (0.0, 1.0));
    }
}
