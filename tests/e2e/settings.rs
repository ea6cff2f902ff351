//! Settings as their users meet them: files, variables, flags, and what beats what.

use std::path::Path;

use firesteel::settings::reference;

/// `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_page_of_settings_is_the_table_of_properties() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/SETTINGS.md");
    let found = reference::markdown();
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::write(&path, &found).expect("docs can be written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(recorded == found, "docs/SETTINGS.md is not what the table says: UPDATE_GOLDEN=1 writes it anew");
}
