//! The main job: deck, driver, report.
