//! Turns the case files of `src/cases/data` into one compact JSON text, so that the page needs no reader of TOML.
//! A wrong file stops the build, with its name and key.

#[path = "src/cases/format.rs"]
#[allow(dead_code)]
mod format;
#[path = "src/cases/metric.rs"]
#[allow(dead_code)]
mod metric;

use std::path::{Path, PathBuf};

const DATA: &str = "src/cases/data";

fn main() {
    println!("cargo:rerun-if-changed={DATA}");
    let mut files: Vec<PathBuf> = std::fs::read_dir(DATA)
        .unwrap_or_else(|e| panic!("{DATA}: {e}"))
        .map(|entry| entry.unwrap_or_else(|e| panic!("{DATA}: {e}")).path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        match read(file) {
            Ok(case) => cases.push(case),
            Err(problem) => {
                eprintln!("{}: {problem}", file.display());
                std::process::exit(1);
            }
        }
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("cases.json");
    std::fs::write(&out, serde_json::Value::from(cases).to_string())
        .unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}

fn read(file: &Path) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let case: format::Case = toml::from_str(&text).map_err(|e| e.to_string())?;
    case.check()?;
    if file.file_stem().and_then(|stem| stem.to_str()) != Some(&case.name) {
        return Err(format!("name: '{}' must be the name of the file", case.name));
    }
    toml::from_str(&text).map_err(|e| e.to_string())
}
