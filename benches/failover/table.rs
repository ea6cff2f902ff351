//! Figures, and the table of them.

/// The most warnings of a round that are shown.
const WARNINGS: usize = 5;

/// What one round measured, in the order of its rows.
#[derive(Default)]
pub(crate) struct Sheet {
    figures: Vec<(&'static str, f64)>,
    /// Lines of the log that say that something went wrong.
    warnings: Vec<String>,
}

impl Sheet {
    pub(crate) fn put(&mut self, name: &'static str, figure: f64) {
        self.figures.push((name, figure));
    }

    /// Notes these lines, to be shown below the table.
    pub(crate) fn warn<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        self.warnings.extend(lines.map(str::to_owned));
    }
}

/// Prints a row for each figure: its median, and that of each round.
pub(crate) fn print(sheets: &[Sheet]) {
    let Some(first) = sheets.first() else { return };
    println!("{:<40} {:>9}   rounds", "", "median");
    for (row, (name, _)) in first.figures.iter().enumerate() {
        let rounds: Vec<f64> = sheets.iter().map(|sheet| sheet.figures[row].1).collect();
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let rounds: Vec<String> = rounds.into_iter().map(short).collect();
        println!("{name:<40} {:>9}   {}", short(sorted[sorted.len() / 2]), rounds.join("  "));
    }
    for Sheet { warnings, .. } in sheets.iter().filter(|sheet| !sheet.warnings.is_empty()) {
        println!("{} warnings of the new leader in one round, of which:", warnings.len());
        warnings.iter().take(WARNINGS).for_each(|line| println!("  {line}"));
    }
}

fn short(figure: f64) -> String {
    match figure {
        ..10.0 => format!("{figure:.3}"),
        ..1000.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}
