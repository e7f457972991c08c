//! Reduces the number of points: a day has more seconds than a drawing has pixels.

use super::Stretch;

/// How several intervals are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// By their mean, weighted by length: for rates.
    Mean,
    /// By their maximum: for percentiles and other figures whose peaks must not be hidden.
    Highest,
}

/// At most `most` intervals, merged from as many as needed; also returns that number.
pub fn thinned(stretches: &[Stretch], most: usize, merge: Merge) -> (Vec<Stretch>, usize) {
    let step = stretches.len().div_ceil(most.max(1)).max(1);
    if step == 1 {
        return (stretches.to_vec(), 1);
    }
    (stretches.chunks(step).filter_map(|chunk| merged(chunk, merge)).collect(), step)
}

fn merged(chunk: &[Stretch], merge: Merge) -> Option<Stretch> {
    let (first, last) = (chunk.first()?, chunk.last()?);
    let known = || chunk.iter().filter_map(|stretch| Some((stretch.figure?, stretch.to - stretch.from)));
    let length: f64 = known().map(|(_, length)| length).sum();
    let figure = match merge {
        Merge::Mean if length > 0.0 => Some(known().map(|(figure, length)| figure * length).sum::<f64>() / length),
        _ => known().map(|(figure, _)| figure).reduce(f64::max),
    };
    Some(Stretch { from: first.from, to: last.to, figure })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(from: f64, figure: Option<f64>) -> Stretch {
        Stretch { from, to: from + 1.0, figure }
    }

    /// Seven seconds to at most three: three, three and one. In the second group only one figure is
    /// known.
    #[test]
    fn a_stretch_stands_for_several() {
        let seconds = [Some(1.0), Some(2.0), Some(6.0), None, Some(5.0), None, None];
        let stretches: Vec<Stretch> = (0..).zip(seconds).map(|(n, figure)| at(f64::from(n), figure)).collect();
        let figures = |merge| {
            let (merged, step) = thinned(&stretches, 3, merge);
            assert_eq!((step, merged[1].from, merged[1].to), (3, 3.0, 6.0));
            merged.iter().map(|stretch| stretch.figure).collect::<Vec<_>>()
        };
        assert_eq!(figures(Merge::Mean), [Some(3.0), Some(5.0), None]);
        assert_eq!(figures(Merge::Highest), [Some(6.0), Some(5.0), None]);
        assert_eq!(thinned(&stretches, 7, Merge::Mean), (stretches.clone(), 1));
        assert_eq!(thinned(&[], 7, Merge::Mean), (Vec::new(), 1));
    }
}
