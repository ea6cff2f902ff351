//! Figures, and the table of them.

/// The most warnings per round that are shown.
const WARNINGS: usize = 5;

/// The figures of one round, in the order of the table's rows.
#[derive(Default)]
pub(crate) struct Sheet {
    figures: Vec<(&'static str, f64)>,
    /// Lines of the log that report a problem.
    warnings: Vec<String>,
}

impl Sheet {
    pub(crate) fn put(&mut self, name: &'static str, figure: f64) {
        self.figures.push((name, figure));
    }

    /// Records these lines, to show them below the table.
    pub(crate) fn warn<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        self.warnings.extend(lines.map(str::to_owned));
    }
}

/// Prints a row for each figure: the median, and the values of all rounds.
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
