//! What a client brings back with a reward: the sealed ticket with its context, and what the service adds to it.
//!
//! `c2.TICKET.CONTEXT.MORE`: the token of `Ticket::token_with`, and behind it when the decision was made and for whom, with a
//! tag over the whole text. A decision that the band did not make is `d3.DECISION.MORE`.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use corral_core::{Context, Ticket, TicketId, TokenError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

use crate::error::ServeError;

const TAG: usize = 8;
const DEFAULT: &str = "d3.";

/// What the service adds to a ticket.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct More {
    /// When the decision was made, in milliseconds since 1970.
    pub at: u64,
    /// For whom.
    pub unit: Option<String>,
    /// The probabilities of the bases, where they are logged.
    pub pbar: Vec<f64>,
    /// Every base's own probability of every action, where that is logged.
    pub full: Vec<f64>,
}

/// A decision without a ticket: the default action, to which the band is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DefaultMade {
    pub band: u64,
    pub copy: u64,
    pub round: u64,
    pub action: u32,
    /// How many actions were offered.
    pub actions: u32,
    /// Their numbers; empty: the first ones.
    pub offer: Vec<u32>,
}

/// What came back.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large one, and each is read once")]
pub(crate) enum Slip<D> {
    Made { ticket: Ticket<D>, context: Context, text: String, more: More },
    Default { id: TicketId, made: DefaultMade, more: More },
}

impl<D> Slip<D> {
    pub fn id(&self) -> TicketId {
        match self {
            Self::Made { ticket, .. } => ticket.id(),
            Self::Default { id, .. } => *id,
        }
    }

    pub fn more(&self) -> &More {
        match self {
            Self::Made { more, .. } | Self::Default { more, .. } => more,
        }
    }
}

/// What the slips of one band are sealed with.
#[derive(Clone, Copy)]
pub(crate) struct Sealer {
    pub secret: u64,
    pub band: u64,
}

impl Sealer {
    fn tag(&self, text: &str, more: &[u8]) -> [u8; TAG] {
        let mut hasher = SipHasher24::new_with_keys(self.secret, !self.band);
        std::hash::Hasher::write(&mut hasher, text.as_bytes());
        std::hash::Hasher::write(&mut hasher, more);
        std::hash::Hasher::finish(&hasher).to_le_bytes()
    }

    fn close(&self, mut text: String, more: &More) -> Result<String, ServeError> {
        let mut bytes = postcard::to_stdvec(more).map_err(|e| TokenError::Unwritten(e.to_string()))?;
        let tag = self.tag(&text, &bytes);
        bytes.extend_from_slice(&tag);
        text.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(bytes, &mut text);
        Ok(text)
    }

    pub fn made<D: Serialize>(
        &self,
        ticket: &Ticket<D>,
        x: &Context,
        more: &More,
    ) -> Result<String, ServeError> {
        self.close(ticket.token_with(x)?, more)
    }

    pub fn default(&self, made: &DefaultMade, more: &More) -> Result<String, ServeError> {
        let bytes = postcard::to_stdvec(made).map_err(|e| TokenError::Unwritten(e.to_string()))?;
        let mut text = DEFAULT.to_owned();
        BASE64_URL_SAFE_NO_PAD.encode_string(bytes, &mut text);
        self.close(text, more)
    }

    /// Passes over a token of this band. One of another band cannot be genuine here, and says whose it is.
    fn check(&self, id: TicketId, genuine: bool) -> Result<(), ServeError> {
        match genuine {
            true => Ok(()),
            false if id.band != self.band => Err(ServeError::Foreign { id, band: self.band }),
            false => Err(ServeError::Forged(id)),
        }
    }

    /// Reads what came back. What is found is what was handed out, or an error.
    pub fn open<D: DeserializeOwned>(&self, token: &str) -> Result<Slip<D>, ServeError> {
        if !token.starts_with(['c', 'd']) {
            return Err(TokenError::NotAToken.into());
        }
        let (text, sealed) = token.rsplit_once('.').ok_or(TokenError::NotAToken)?;
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Damaged);
        let sealed = decode(sealed)?;
        let (bytes, tag) = sealed.split_last_chunk::<TAG>().ok_or(TokenError::Damaged)?;
        let more: More = postcard::from_bytes(bytes).map_err(|_| TokenError::Damaged)?;
        let genuine = self.tag(text, bytes) == *tag;
        if let Some(made) = text.strip_prefix(DEFAULT) {
            let bytes = decode(made)?;
            let made: DefaultMade = postcard::from_bytes(&bytes).map_err(|_| TokenError::Damaged)?;
            let id = TicketId { band: made.band, copy: made.copy, round: made.round };
            self.check(id, genuine)?;
            return Ok(Slip::Default { id, made, more });
        }
        let (context, ticket) = Ticket::<D>::from_token_with::<Context>(text)?;
        self.check(ticket.id(), genuine)?;
        let ticket_text = text.rsplit_once('.').map_or(text, |(ticket, _)| ticket).to_owned();
        Ok(Slip::Made { ticket, context, text: ticket_text, more })
    }
}
