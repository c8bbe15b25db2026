//! Simplification of a line to a path with few points that looks the same.

/// Position in tenths of a pixel, to the right and downwards.
pub(super) type Place = (i64, i64);

/// Largest distance between the path and the line, in tenths of a pixel: a third of a thin stroke.
const TOLERANCE: f64 = 3.0;

/// SVG path data through `places`, whose x must not decrease.
pub(super) fn path(places: &[Place]) -> String {
    let kept = simplified(&extremes(places));
    let mut data = String::new();
    let mut at = (0, 0);
    for (i, &(x, y)) in kept.iter().enumerate() {
        let (dx, dy) = (x - at.0, y - at.1);
        match (i, dx, dy) {
            (0, ..) => data += &format!("M{} {}", number(x), number(y)),
            (_, _, 0) => data += &format!("h{}", number(dx)),
            (_, 0, _) => data += &format!("v{}", number(dy)),
            _ => data += &format!("l{} {}", number(dx), number(dy)),
        }
        at = (x, y);
    }
    data
}

/// Tenths as a decimal number, in as few characters as possible.
pub(super) fn number(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.abs() / 10, tenths.abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// First, last, highest and lowest place in each column of pixels; they draw the same line.
fn extremes(places: &[Place]) -> Vec<Place> {
    let mut kept = Vec::new();
    for column in places.chunk_by(|a, b| a.0.div_euclid(10) == b.0.div_euclid(10)) {
        let last = column.len() - 1;
        let by_height = |i: &usize| column[*i].1;
        let mut indices = [0, last, 0, 0];
        indices[2] = (0..=last).min_by_key(by_height).unwrap_or(0);
        indices[3] = (0..=last).max_by_key(by_height).unwrap_or(0);
        indices.sort_unstable();
        for (n, &i) in indices.iter().enumerate() {
            if n == 0 || indices[n - 1] != i {
                kept.push(column[i]);
            }
        }
    }
    kept
}

/// Douglas and Peucker's simplification (1973): keep the place furthest from the chord and repeat on both sides, until
/// no place is further away than the tolerance.
fn simplified(places: &[Place]) -> Vec<Place> {
    let Some(last) = places.len().checked_sub(1) else { return vec![] };
    let mut kept = vec![false; places.len()];
    kept[0] = true;
    kept[last] = true;
    let mut open = vec![(0, last)];
    while let Some((from, until)) = open.pop() {
        let distance = |i: usize| squared_distance(places[i], places[from], places[until]);
        let furthest = (from + 1..until).max_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        if let Some(i) = furthest.filter(|&i| distance(i) > TOLERANCE * TOLERANCE) {
            kept[i] = true;
            open.extend([(from, i), (i, until)]);
        }
    }
    places.iter().zip(kept).filter(|(_, kept)| *kept).map(|(place, _)| *place).collect()
}

/// Squared distance from `p` to the segment from `a` to `b`.
fn squared_distance(p: Place, a: Place, b: Place) -> f64 {
    let (abx, aby) = ((b.0 - a.0) as f64, (b.1 - a.1) as f64);
    let (apx, apy) = ((p.0 - a.0) as f64, (p.1 - a.1) as f64);
    let (length, along) = (abx * abx + aby * aby, apx * abx + apy * aby);
    if along <= 0.0 {
        apx * apx + apy * apy
    } else if along >= length {
        let (bpx, bpy) = (apx - abx, apy - aby);
        bpx * bpx + bpy * bpy
    } else {
        let across = abx * apy - aby * apx;
        across * across / length
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_straight_line_keeps_its_ends_and_a_step_function_its_corners() {
        let straight: Vec<Place> = (0..1000).map(|i| (i * 7, i * 3)).collect();
        assert_eq!(path(&straight), "M0 0l699.3 299.7");
        assert_eq!(path(&[(0, 100), (50, 100), (50, 20), (95, 20)]), "M0 10h5v-8h4.5");
    }

    #[test]
    fn a_spike_within_one_column_of_pixels_is_drawn() {
        let mut flat: Vec<Place> = (0..1000).map(|i| (i, 500)).collect();
        flat[404].1 = 100;
        // The first, the highest and the last place of its column, 400 to 409 tenths, are kept.
        assert_eq!(path(&flat), "M0 50h40l.4 -40l.5 40h59");
    }

    #[test]
    fn no_points_give_an_empty_path_and_one_point_a_move() {
        assert_eq!(path(&[]), "");
        assert_eq!(path(&[(12, -3)]), "M1.2 -.3");
    }

    proptest! {
        #[test]
        fn no_point_is_further_from_the_path_than_a_third_of_a_pixel_and_a_column(
            steps in prop::collection::vec((0..40_i64, -300..300_i64), 1..300),
        ) {
            let mut at = (0, 0);
            let places: Vec<Place> = steps.into_iter().map(|(dx, dy)| { at = (at.0 + dx, at.1 + dy); at }).collect();
            let kept = simplified(&extremes(&places));
            // Within a column of pixels, the places between the extremes lose their order.
            let allowed = 10.0 + TOLERANCE;
            for &p in &places {
                let nearest = kept.windows(2).map(|w| squared_distance(p, w[0], w[1])).fold(f64::INFINITY, f64::min);
                prop_assert!(kept.len() < 2 || nearest <= allowed * allowed, "{p:?} is {} away", nearest.sqrt());
            }
        }
    }
}
