//! Pictures of figures as they come, and of figures that should not.

use std::collections::BTreeMap;

use gearshift_coordination::Gear;

use super::*;

const LOOKS: [Look; 4] = [Look::File, Look::Wide, Look::Narrow, Look::Panel];

fn some_lines(names: &[&str]) -> Lines {
    let series = names.iter().zip(Gear::ALL.iter().cycle()).enumerate().map(|(place, (name, gear))| {
        let point = |x: f64| LinePoint::new(x, x * (place + 1) as f64).give_or_take(Some(0.5));
        Series {
            name: (*name).to_owned(),
            ink: Ink::gear(*gear).variant(place / 6),
            points: (1..6).map(f64::from).map(point).collect(),
        }
    });
    Lines {
        caption: Caption::new("Speed <by> gear & straggler", "rises"),
        x: Axis::new("x").log().format(Format::Factor),
        y: Axis::new("y").include([0.0]),
        series: series.collect(),
        baseline: Some(1.0),
    }
}

/// Whether the text is well-formed as far as tags and attributes go: every tag is closed in order.
fn is_well_formed(svg: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>').map(|end| start + end) else { return false };
        let tag = &rest[start + 1..end];
        match tag.strip_prefix('/') {
            Some(name) if open.pop() == Some(name) => {}
            Some(_) => return false,
            None => open.push(tag.split([' ', '\n']).next().unwrap_or("")),
        }
        rest = &rest[end + 1..];
    }
    open.is_empty()
}

/// No picture may hold such figures.
fn is_finite(svg: &str) -> bool {
    !svg.contains("NaN") && !svg.contains("inf")
}

#[test]
fn text_is_escaped_in_every_look() {
    let chart = some_lines(&["a <script>alert(1)</script>", "b & \"c\""]);
    for look in LOOKS {
        let svg = lines(&chart, look);
        assert!(is_well_formed(&svg), "{svg}");
        assert!(!svg.contains("<script"));
        assert!(svg.contains("Speed &lt;by&gt; gear &amp; straggler"));
        assert!(
            svg.starts_with("<svg") && svg.contains("role=\"img\"") && svg.contains("<desc>rises</desc>")
        );
    }
}

#[test]
fn a_file_is_white_and_a_page_part_is_clear() {
    let chart = some_lines(&["one"]);
    let file = lines(&chart, Look::File);
    assert!(file.contains("xmlns=") && file.contains("fill=\"#ffffff\""));
    assert!(!file.contains("var("), "viewers of files know no variables");
    assert!(!lines(&chart, Look::Wide).contains("xmlns"));
}

#[test]
fn odd_figures_draw_something() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, -1e300, 1e-300];
    let mut chart = some_lines(&[]);
    for axis in [Axis::new("x"), Axis::new("x").log()] {
        for (a, b) in odd.iter().flat_map(|a| odd.map(|b| (*a, b))) {
            chart.x = axis.clone();
            chart.series = vec![Series {
                name: "odd".to_owned(),
                ink: Ink::pale(),
                points: vec![LinePoint::new(a, b), LinePoint { x: b, y: a, band: Some((b, a)) }],
            }];
            let svg = lines(&chart, Look::Wide);
            assert!(is_well_formed(&svg) && is_finite(&svg), "{a} {b}: {svg}");
            let bar = |value| Bar {
                name: String::new(),
                heading: String::new(),
                ink: Ink::pale(),
                value: Some(value),
                spread: Some(b),
                text: String::new(),
            };
            let chart = Bars { value: axis.clone(), bars: vec![bar(a), bar(b)], ..Bars::default() };
            assert!(is_finite(&bars(&chart, Look::Narrow)));
        }
    }
}

#[test]
fn nothing_to_draw_is_said() {
    assert!(lines(&Lines::default(), Look::File).contains("no figures"));
    assert!(bars(&Bars::default(), Look::Wide).contains("no figures"));
    assert!(intervals(&Intervals::default(), Look::Panel).contains("no figures"));
    assert!(histogram(&Histogram::default(), Look::Narrow).contains("no figures"));
}

#[test]
fn whiskers_and_negative_bars() {
    let bar = |name: &str, value: f64| Bar {
        name: name.to_owned(),
        heading: "group".to_owned(),
        ink: Ink::gear(Gear::Gba),
        value: Some(value),
        spread: Some(0.1),
        text: format!("{value}"),
    };
    let chart = Bars { bars: vec![bar("up", 1.0), bar("down", -1.0)], ..Bars::default() };
    let svg = bars(&chart, Look::Wide);
    assert!(is_well_formed(&svg));
    assert_eq!(svg.matches(">group<").count(), 1);
    // Both bars have the same length, on both sides of zero.
    let widths: Vec<&str> = svg
        .split("<rect")
        .skip(1)
        .filter_map(|bar| bar.split("width=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(widths.len(), 2);
    assert_eq!(widths[0], widths[1]);
    assert_eq!(svg.matches("<line class=\"edge\"").count(), 1, "the zero line");
    assert_eq!(svg.matches("<path class=\"whisker\"").count(), 2);
}

#[test]
fn many_names_go_below() {
    let names: Vec<String> = (0..30).map(|place| format!("branch {place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let svg = lines(&some_lines(&names), Look::Wide);
    assert!(names.iter().all(|name| svg.contains(&format!(">{name}<"))));
}

#[test]
fn counts_are_drawn_as_shares() {
    let series = Counts {
        name: "token".to_owned(),
        ink: Ink::gear(Gear::Gba),
        counts: BTreeMap::from([(0, 3), (1, 1)]),
    };
    let svg = histogram(&Histogram { series: vec![series], ..Histogram::default() }, Look::Panel);
    assert!(is_well_formed(&svg));
    assert!(svg.contains("token, 0: 75.0 %") && svg.contains("token, 1: 25.0 %"), "{svg}");
}
