//! `eagre-bench reproduce` as its users call it.

mod browser;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn reproduce(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eagre-bench"));
    command.arg("reproduce").args(arguments).output().expect("eagre-bench runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_list_names_works_sections_and_rows() {
    let output = reproduce(&["--list"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    for words in [
        "vortex: Vortex",
        "vortex/table-4: Table 4",
        "rows: pipe, pipes",
        "no row: ",
        "ruma: ",
        "wiscsort: ",
        "network: ",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let output = reproduce(&["newlines/1brc", "--list"]);
    let out = text(&output.stdout);
    assert!(out.contains("rows: stats") && !out.contains("vortex"), "{out}");
    let output = reproduce(&["nonesuch", "--list"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    assert!(text(&output.stderr).starts_with("eagre-bench: reproduce: nonesuch: no such work"));
}

/// All of it, in little. The rows that no work has are run by another test.
#[test]
fn a_quick_run_checks_the_answers_of_all_works_and_records_nothing() {
    let directory = tempfile::tempdir().expect("directory");
    let [record, files, report] = ["record", "files", "report"].map(|name| directory.path().join(name));
    let [record_name, files_name, report_name] = [&record, &files, &report].map(|path| path.to_str().expect("path"));
    let output = reproduce(&["--quick", "--records", record_name, "--dir", files_name, "--report", report_name]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    let (_, named) = out.split_once("answers only: ").expect("the rows");
    let named: Vec<_> = named.lines().next().expect("a line").split(", ").collect();
    assert!(named.len() > 35, "{named:?}");
    for row in named {
        assert!(out.contains(&format!("\n{row}: answers right\n")), "{row}: {out}");
    }
    assert!(!record.exists() && !files.exists());
    for page in ["index", "vortex", "ruma", "wiscsort", "network", "newlines"] {
        let page = report.join(format!("{page}.html"));
        assert!(page.exists(), "{}", page.display());
        browser::finds_nothing_wrong(&page, 390);
    }
}

/// A small run leaves a record and pages. The same command again measures nothing and writes the same pages, and so does a
/// page from the record.
#[test]
fn a_run_goes_on_from_its_record() {
    let directory = tempfile::tempdir().expect("directory");
    let names = ["record", "files", "first", "second", "third"].map(|name| directory.path().join(name));
    let [record, files, first, second, third] = names.each_ref().map(|path| path.to_str().expect("path"));
    let run = |report: &str| {
        let small = ["--bytes", "100000", "--rounds", "1", "--patience", "0"];
        let places = ["--records", record, "--dir", files, "--report", report];
        let output = reproduce(&[&["wiscsort/figure-9"], &small[..], &places[..]].concat());
        // Reduced sizes give no verdict, so no target is missed.
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let out = run(first);
    assert!(out.contains("to measure: external-ratios\nThis takes about "), "{out}");
    assert!(out.contains("external-ratios: measured\n"), "{out}");
    let recorded = fs::read_to_string(record).expect("a record");
    assert_eq!(recorded.lines().count(), 6, "a line for each case");

    let out = run(second);
    assert!(out.contains("nothing to measure; recorded already: external-ratios"), "{out}");
    assert_eq!(fs::read_to_string(record).expect("a record"), recorded);

    let output = reproduce(&["wiscsort", "--page", record, "--report", third]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("### Figure 9: ") && page.contains("| GB/s | 10:10 | 10:1000 |"), "{page}");
    assert!(page.contains("Not measured yet."), "the other rows of the work");

    let read = |report: &str| fs::read_to_string(Path::new(report).join("wiscsort.html")).expect("a page");
    assert_eq!(read(first), read(second));
    assert!(read(first).contains("<section id=\"figure-9\">") && !read(first).contains("<section id=\"figure-8\">"));
    assert!(read(third).contains("<section id=\"figure-8\">"));
    let index = fs::read_to_string(Path::new(first).join("index.html")).expect("a summary");
    assert!(index.contains("wiscsort.html#figure-9"));
}

#[test]
fn a_record_that_is_none_is_one_line_and_exit_code_two() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("record");
    for (contents, want) in [("words\n", "line 1: not a record"), ("", "a record without results")] {
        fs::write(&file, contents).expect("a file");
        let output = reproduce(&["--page", file.to_str().expect("path")]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        let said = text(&output.stderr);
        assert!(said.contains(want) && said.lines().count() == 1, "{said}");
    }
}

/// The page is what the record says, and the record has something for every section.
#[test]
fn the_page_in_the_documentation_is_made_from_its_record() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let record = docs.join("reproduction.jsonl");
    let output = reproduce(&["--page", record.to_str().expect("path")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(docs.join("reproduction.md")).expect("a page");
    assert!(text(&output.stdout) == page, "docs/reproduction.md is another: run './dev reproduce --page'");
    assert!(!page.contains("Not measured yet"));
}
