//! Draws a line through a few points as an SVG file: a logarithmic axis below, a linear axis from zero at the left, both
//! with labels.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 58.0;
/// The usual number of steps of the axis at the left.
const STEPS: f64 = 5.0;

/// A measured value for a count of instances, lanes or rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub count: f64,
    pub value: f64,
}

/// A plot with the texts of its axes.
#[derive(Debug)]
pub struct Plot<'a> {
    pub title: &'a str,
    pub below: &'a str,
    pub left: &'a str,
    pub points: &'a [Point],
}

impl Plot<'_> {
    /// The SVG document.
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\" role=\"img\">\n"
        );
        let mut add = |element: String| writeln!(svg, "{element}").expect("writing to a String cannot fail");
        add(format!("<title>{}</title>", escaped(self.title)));
        add(format!("<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>"));
        add(text(WIDTH / 2.0, 24.0, "middle", self.title, " font-size=\"16\""));
        add(text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14.0, "middle", self.below, ""));
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        add(text(18.0, middle, "middle", self.left, &format!(" transform=\"rotate(-90 18 {middle:.1})\"")));
        for level in self.levels() {
            let y = self.y(level);
            add(line((LEFT, y), (WIDTH - RIGHT, y), "#ddd"));
            add(text(LEFT - 8.0, y + 4.0, "end", &number(level), ""));
        }
        for point in self.points {
            let x = self.x(point.count);
            add(line((x, HEIGHT - BOTTOM), (x, HEIGHT - BOTTOM + 5.0), "#222"));
            add(text(x, HEIGHT - BOTTOM + 20.0, "middle", &number(point.count), ""));
        }
        add(line((LEFT, TOP), (LEFT, HEIGHT - BOTTOM), "#222"));
        add(line((LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM), "#222"));
        self.curve().into_iter().for_each(add);
        svg.push_str("</svg>\n");
        svg
    }

    /// The line, and its points with their values.
    fn curve(&self) -> Vec<String> {
        let places: Vec<String> = self
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", self.x(point.count), self.y(point.value)))
            .collect();
        let mut elements = vec![format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"2\"/>",
            places.join(" ")
        )];
        for point in self.points {
            let (x, y) = (self.x(point.count), self.y(point.value));
            elements.push(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#1f6feb\"/>"));
            elements.push(text(x, y - 10.0, "middle", &number(point.value), " font-weight=\"bold\""));
        }
        elements
    }

    /// The place of a count. The first and last keep a distance from the ends of the axis, for their labels.
    fn x(&self, count: f64) -> f64 {
        let counts = || self.points.iter().map(|point| point.count.log10());
        let (first, last) =
            (counts().fold(f64::INFINITY, f64::min), counts().fold(f64::NEG_INFINITY, f64::max));
        let share = if last > first { (count.log10() - first) / (last - first) } else { 0.5 };
        let margin = 36.0;
        LEFT + margin + share * (WIDTH - LEFT - RIGHT - 2.0 * margin)
    }

    fn y(&self, value: f64) -> f64 {
        let top = self.levels().last().copied().unwrap_or(1.0);
        HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)
    }

    /// Round values from zero to the first that is not below any point.
    fn levels(&self) -> Vec<f64> {
        let highest = self.points.iter().map(|point| point.value).fold(f64::MIN_POSITIVE, f64::max);
        let rough = highest / STEPS;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
        let step = factor * power;
        let steps = (0_u8..=10).map(|number| f64::from(number) * step);
        steps.take_while(|level| *level < highest + step * 0.999_999).collect()
    }
}

/// A number as a person writes it on an axis: `10,000,000` is `10 M`.
fn number(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e4 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = usize::from(value < 100.0) + usize::from(value < 1.0);
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

fn line(from: (f64, f64), to: (f64, f64), colour: &str) -> String {
    format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    )
}

fn text(x: f64, y: f64, anchor: &str, text: &str, more: &str) -> String {
    let text = escaped(text);
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{text}</text>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [Point; 3] = [
        Point { count: 10_000.0, value: 36_000.0 },
        Point { count: 100_000.0, value: 35_100.0 },
        Point { count: 1_000_000.0, value: 33_000.0 },
    ];

    fn plot<'a>(title: &'a str, points: &'a [Point]) -> Plot<'a> {
        Plot { title, below: "rows", left: "rows/s", points }
    }

    #[test]
    fn the_levels_are_round_and_reach_above_the_points() {
        assert_eq!(plot("", &POINTS).levels(), [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0]);
        let small = [Point { count: 1.0, value: 2.3 }];
        assert_eq!(plot("", &small).levels(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let plot = plot("", &POINTS);
        let places = POINTS.map(|point| plot.x(point.count));
        assert!((places[1] - places[0] - (places[2] - places[1])).abs() < 1e-9, "{places:?}");
        assert!(places[0] > LEFT && places[2] < WIDTH - RIGHT);
    }

    #[test]
    fn higher_values_are_higher_and_inside() {
        let plot = plot("", &POINTS);
        let places = POINTS.map(|point| plot.y(point.value));
        assert!(TOP <= places[0] && places[0] < places[1] && places[2] < HEIGHT - BOTTOM, "{places:?}");
    }

    #[test]
    fn a_single_point_is_in_the_middle() {
        let single = [POINTS[0]];
        let plot = plot("", &single);
        assert!((plot.x(10_000.0) - (LEFT + WIDTH - RIGHT) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_document_has_the_labels_of_both_axes() {
        let svg = plot("a < b & c", &POINTS).svg();
        for label in [">10 k<", ">100 k<", ">1 M<", ">40 k<", ">36 k<", ">35.1 k<", ">rows<", ">rows/s<"] {
            assert!(svg.contains(label), "{label} is missing in {svg}");
        }
        assert!(svg.contains("a &lt; b &amp; c") && !svg.contains("a < b"));
        assert_eq!(svg.matches("<circle").count(), 3);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.5, 1.0, 2.45, 100.0, 9_999.0, 10_000.0, 1_500_000.0, 10_000_000.0].map(number);
        assert_eq!(texts, ["0.5", "1", "2.5", "100", "9999", "10 k", "1.5 M", "10 M"]);
    }
}
