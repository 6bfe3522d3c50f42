//! A headless browser that opens a page and lets it check itself.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a page opened with `?check`, in a window of this width in pixels, finds out about itself. Messages of the browser's console are
/// among its `troubles`.
/// `None`, said on standard error, if there is no browser.
pub(crate) fn look(page: &Path, width: u32) -> Option<serde_json::Value> {
    let profile = tempfile::tempdir().expect("a directory for the browser");
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium, chromium-browser or google-chrome to open {}", page.display());
        return None;
    };
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .arg(format!("--window-size={width},900"))
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}?check", page.canonicalize().expect("a page").display()))
        .env("HOME", profile.path())
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let found = dom.split_once("<pre id=\"check\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (found, _) = found.unwrap_or_else(|| panic!("the page has not checked itself: {log}"));
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let mut found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    let messages = log.lines().filter(|line| line.contains("CONSOLE")).map(Into::into);
    found["troubles"].as_array_mut().expect("troubles").extend(messages);
    Some(found)
}

/// The same of a page that must find nothing wrong with itself.
pub(crate) fn finds_nothing_wrong(page: &Path, width: u32) -> Option<serde_json::Value> {
    let found = look(page, width)?;
    assert_eq!(found["troubles"], serde_json::json!([]), "{}, {width}", page.display());
    Some(found)
}

/// The name of a browser that is here.
fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}
