//! `include/eagre.h` says what the library does. `UPDATE=1` rewrites it.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = here.join("../../include/eagre.h");
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new().with_crate(here).with_config(config).generate().expect("cbindgen");
    let mut generated = Vec::new();
    bindings.write(&mut generated);
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
