//! A ticket as one line of text.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Ticket;
use super::seal::Seal;
use crate::Observation;

/// The layout of what a token holds. Version 1 had contexts without the numbers of the offered actions.
const VERSION: u32 = 2;
/// What a token begins with, before its version.
const MARK: char = 'c';

/// Why a text is not the token of a ticket, or a ticket has none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The text is something else.
    #[error("this is not a token of a decision: it does not begin with \"{MARK}{VERSION}.\"")]
    NotAToken,
    /// The token was made by another version of this library.
    #[error("a token of version {found}; this library reads version {VERSION}")]
    Version {
        /// The version that was found.
        found: u32,
    },
    /// The token was cut or changed.
    #[error("the token is damaged: it cannot be read")]
    Damaged,
    /// There is no context in the token.
    #[error("the token holds no context: it was made by `token`, not by `token_with`")]
    NoContext,
    /// The context is not the one that the ticket was made for.
    #[error("the ticket of round {round} was made for another context")]
    OtherContext {
        /// The round of the ticket.
        round: u64,
    },
    /// The ensemble has no secret, so its tickets stay in the process.
    #[error(
        "a ticket of a band without a secret cannot leave the process: give `EnsembleParams::secret` 64 random bits"
    )]
    NoSecret,
    /// The decision or the context could not be written.
    #[error("the ticket cannot be written: {0}")]
    Unwritten(String),
}

impl TokenError {
    pub(super) fn unwritten(error: impl std::fmt::Display) -> Self {
        Self::Unwritten(error.to_string())
    }
}

impl<D: Serialize> Ticket<D> {
    /// The ticket as one opaque line of text that is safe in JSON and in a URL: versioned and sealed. Whoever learns it
    /// brings the context.
    ///
    /// # Errors
    /// The band has no [secret](crate::EnsembleParams::secret).
    pub fn token(&self) -> Result<String, TokenError> {
        let mut token = format!("{MARK}{VERSION}.");
        BASE64_URL_SAFE_NO_PAD.encode_string(self.to_bytes()?, &mut token);
        Ok(token)
    }

    /// The same with the context inside: whoever has it needs nothing else.
    ///
    /// # Errors
    /// As [`token`](Ticket::token), or the ticket was made for another context.
    pub fn token_with<X: Observation + Serialize>(&self, x: &X) -> Result<String, TokenError> {
        if let Seal::Home(Some(secret)) = self.seal
            && x.digest(secret.get()) != self.trace.digest
        {
            return Err(TokenError::OtherContext { round: self.trace.round });
        }
        let mut token = self.token()?;
        token.push('.');
        let context = postcard::to_stdvec(x).map_err(TokenError::unwritten)?;
        BASE64_URL_SAFE_NO_PAD.encode_string(context, &mut token);
        Ok(token)
    }
}

impl<D: DeserializeOwned> Ticket<D> {
    /// Reads the ticket of a token, with or without a context inside. Whether it is genuine is found when it is learned.
    ///
    /// # Errors
    /// The text is not a token, one of another version, or damaged.
    pub fn from_token(token: &str) -> Result<Self, TokenError> {
        Self::from_bytes(parts(token)?.0)
    }

    /// Reads a token that has its context inside.
    ///
    /// # Errors
    /// As [`from_token`](Ticket::from_token), or there is no context.
    pub fn from_token_with<X: DeserializeOwned>(token: &str) -> Result<(X, Self), TokenError> {
        let (ticket, context) = parts(token)?;
        let context = context.ok_or(TokenError::NoContext)?;
        match postcard::take_from_bytes(&context) {
            Ok((x, [])) => Ok((x, Self::from_bytes(ticket)?)),
            _ => Err(TokenError::Damaged),
        }
    }
}

/// The bytes of the ticket, and those of its context.
fn parts(token: &str) -> Result<(Vec<u8>, Option<Vec<u8>>), TokenError> {
    let (version, rest) =
        token.strip_prefix(MARK).and_then(|text| text.split_once('.')).ok_or(TokenError::NotAToken)?;
    match version.parse() {
        Ok(VERSION) if version.len() == 1 => {}
        Ok(found) => return Err(TokenError::Version { found }),
        Err(_) => return Err(TokenError::NotAToken),
    }
    let bytes = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Damaged);
    match rest.split_once('.') {
        None => Ok((bytes(rest)?, None)),
        Some((ticket, context)) => Ok((bytes(ticket)?, Some(bytes(context)?))),
    }
}
