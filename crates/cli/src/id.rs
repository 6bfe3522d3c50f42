//! `eagre id`: the key of this user, and tokens.

use std::path::PathBuf;

use eagre_net::Identity;
use eagre_net::security::create_token;
use serde::Serialize;

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::message::Message;
use crate::name;
use crate::network;

const LONG: &str = "\
Print the fingerprint of the key by which other hosts know this user, or make a token.

The key is made when it is first asked for, in $XDG_CONFIG_HOME/eagre/identity or ~/.config/eagre/identity. Only its \
owner can read it. Give the fingerprint to the other side ('eagre receive --peer FINGERPRINT'), and that of the other \
side to this one.

With --token, a random secret is written to a new file, which only its owner can read. Copy it to the other side over \
a way that is safe (ssh, say), and give it to both ('--token FILE').";

const AFTER: &str = "\
Examples:
  eagre id                                 print the fingerprint, and make the key if there is none
  eagre id --token secret                  make a token
  scp secret host:                         and give it to the other side";

/// Print the fingerprint of this user's key, or make a token
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// The file of the key
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "token")]
    identity: Option<PathBuf>,

    /// Make a token in FILE, which must be new
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long, conflicts_with = "token")]
    json: bool,
}

const WHAT: &str = "id";

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let net = |error| network::net_failure(WHAT, error);
        if let Some(token) = &self.token {
            create_token(token).map_err(net)?;
            return Ok(Exit::Yes);
        }
        let place = match self.identity {
            Some(place) => place,
            None => network::identity_file().map_err(|error| network::failure(WHAT, &error))?,
        };
        let made = !place.exists();
        let identity = if made { make(&place)? } else { Identity::load(&place).map_err(net)? };
        let fingerprint = identity.fingerprint().to_string();
        if self.json {
            let place = name::Json::new(Some(place.as_os_str().as_encoded_bytes()));
            console.print_json(&Report { place, fingerprint, made })?;
        } else {
            console.print(format!("{fingerprint}\n"))?;
        }
        Ok(Exit::Yes)
    }
}

/// Makes a key, and the directory for it.
fn make(place: &std::path::Path) -> Result<Identity, Failure> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| {
            let shown = name::in_messages(folder.as_os_str().as_encoded_bytes());
            Failure::Trouble(Message::from_io(WHAT, shown, &error).to_string())
        })?;
    }
    Identity::create(place).map_err(|error| network::net_failure(WHAT, error))
}

/// The JSON object.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    place: name::Json,
    fingerprint: String,
    made: bool,
}
