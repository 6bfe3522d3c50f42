//! `include/eagre.h` says what the library does. `UPDATE=1` rewrites it.

use std::path::Path;

/// The headings of the functions, each with the first function below it. The order is that of the modules in src/lib.rs.
const HEADINGS: &[(&str, &str)] = &[
    ("eagre_strerror", "Errors"),
    ("eagre_open", "Streams"),
    ("eagre_writer_pointer", "Streams: the writer"),
    ("eagre_reader_pointer", "Streams: the reader"),
    ("eagre_write_block_data", "Streams: blocks that are taken and completed in any order"),
    ("eagre_open_source", "Streams: callbacks"),
    ("eagre_control_cancel", "Streams: control and counters"),
    ("eagre_open_file", "Files as streams"),
    ("eagre_network_options_default", "Streams between hosts"),
    ("eagre_process_pair", "Streams between processes"),
    ("eagre_pool_open", "Memory: pools, and vectors that grow without copying"),
    ("eagre_sort_options_default", "Sorting"),
    ("eagre_partition_options_default", "Partitioning"),
    ("eagre_format_default", "Sorting records: their format"),
    ("eagre_file_sort_options_default", "Sorting records: files and streams"),
    ("eagre_gather_options_default", "Sorting records: from an index to records"),
    ("eagre_sample_boundaries", "Sorting records: in memory"),
    ("eagre_count_file", "Counting and finding"),
    ("eagre_version", "Version and reports"),
];

/// The header with a heading in front of each group. Its comment stays with the function.
fn with_headings(header: &str) -> String {
    let mut blocks: Vec<String> = header.split("\n\n").map(str::to_owned).collect();
    for (function, heading) in HEADINGS {
        let call = format!("{function}(");
        let is_it = |block: &&mut String| block.lines().any(|line| !line.starts_with("//") && line.contains(&call));
        let block = blocks.iter_mut().find(is_it).unwrap_or_else(|| panic!("no function {function} in the header"));
        *block = format!("// ---- {heading} ----\n\n{block}");
    }
    blocks.join("\n\n")
}

#[test]
fn the_header_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = here.join("../../include/eagre.h");
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new().with_crate(here).with_config(config).generate().expect("cbindgen");
    let mut generated = Vec::new();
    bindings.write(&mut generated);
    let generated = with_headings(&String::from_utf8(generated).expect("text")).into_bytes();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(header.parent().expect("a folder")).expect("include/");
        std::fs::write(&header, &generated).expect("include/eagre.h");
        return;
    }
    let checked_in = std::fs::read(&header).expect("include/eagre.h");
    assert!(
        checked_in == generated,
        "include/eagre.h is not what the sources say; run: UPDATE=1 cargo test -p eagre-capi --test header"
    );
}
