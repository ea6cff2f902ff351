//! Figures, and the table of them.

/// What one round measured, in the order of its rows.
#[derive(Default)]
pub(crate) struct Sheet(Vec<(&'static str, f64)>);

impl Sheet {
    pub(crate) fn put(&mut self, name: &'static str, figure: f64) {
        self.0.push((name, figure));
    }
}

/// Prints a row for each figure: its median, and that of each round.
pub(crate) fn print(sheets: &[Sheet]) {
    let Some(Sheet(first)) = sheets.first() else { return };
    println!("{:<40} {:>9}   rounds", "", "median");
    for (row, (name, _)) in first.iter().enumerate() {
        let rounds: Vec<f64> = sheets.iter().map(|sheet| sheet.0[row].1).collect();
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let rounds: Vec<String> = rounds.into_iter().map(short).collect();
        println!("{name:<40} {:>9}   {}", short(sorted[sorted.len() / 2]), rounds.join("  "));
    }
}

fn short(figure: f64) -> String {
    match figure {
        ..10.0 => format!("{figure:.3}"),
        ..1000.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}
