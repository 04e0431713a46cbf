//! Who may do what.

use std::collections::HashMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::error::ServeError;

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duty {
    /// Ask for decisions.
    Decide,
    /// Give rewards.
    Reward,
    /// See reports, metrics and the log.
    Read,
    /// Change the bases. It may do all the rest too.
    Admin,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    name: String,
    secret: String,
    roles: Vec<Duty>,
}

/// The clients that are known, by the hash of their secret. None: everyone may do everything.
#[derive(Debug, Clone, Default)]
pub struct Clients(HashMap<[u8; 32], (String, Vec<Duty>)>);

/// The shortest secret that is taken.
const SHORTEST: usize = 16;

impl Clients {
    /// Reads clients: `[[client]]` with `name`, `secret` and `roles` (decide, reward, read, admin).
    ///
    /// # Errors
    /// A key is missing or wrong, or a secret is too short.
    pub fn read(text: &str) -> Result<Self, ServeError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            client: Vec<Client>,
        }
        let wrong = |e: toml::de::Error| ServeError::Model(e.message().to_owned());
        let mut clients = HashMap::new();
        for Client { name, secret, roles } in toml::from_str::<File>(text).map_err(wrong)?.client {
            if secret.len() < SHORTEST {
                let why = format!("client {name:?}: secret must have at least {SHORTEST} characters");
                return Err(ServeError::Model(why));
            }
            clients.insert(hash(&secret), (name, roles));
        }
        Ok(Self(clients))
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name of the client that a header `Authorization` is of, where it may do this; else the status to answer with.
    pub(super) fn admit(&self, header: Option<&str>, duty: Duty) -> Result<String, (u16, &'static str)> {
        if self.is_empty() {
            return Ok(String::new());
        }
        let secret =
            header.and_then(|h| h.strip_prefix("Bearer ")).ok_or((401, "a bearer token is needed"))?;
        // By its hash: how long this takes says nothing of the secrets.
        let (name, roles) =
            self.0.get(&hash(secret.trim())).ok_or((401, "this bearer token is not known"))?;
        if roles.contains(&duty) || roles.contains(&Duty::Admin) {
            return Ok(name.clone());
        }
        Err((403, "this bearer token does not have the role for it"))
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
