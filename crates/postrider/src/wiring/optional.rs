//! The backends that a build can leave out, because they take long to compile: one module and one Cargo feature each.
//!
//! Owns: the refusal of the others. Must not: know a backend that every build has. Invariant: the settings name no
//! backend that this build lacks, as its scheme is refused (`Feature::refusal`); `left_out` refuses the same if it is asked.

#[cfg(feature = "amqp")]
pub(super) mod amqp;
#[cfg(feature = "aws")]
pub(super) mod dynamodb;
#[cfg(feature = "kafka")]
pub(super) mod kafka;
#[cfg(not(all(
    feature = "amqp",
    feature = "aws",
    feature = "kafka",
    feature = "nats",
    feature = "providers"
)))]
pub(super) mod left_out;
#[cfg(feature = "nats")]
pub(super) mod nats;
#[cfg(feature = "providers")]
pub(super) mod provider;
#[cfg(feature = "aws")]
pub(super) mod sqs;

#[cfg(not(feature = "amqp"))]
pub(super) use left_out as amqp;
#[cfg(not(feature = "kafka"))]
pub(super) use left_out as kafka;
#[cfg(not(feature = "nats"))]
pub(super) use left_out as nats;
#[cfg(not(feature = "providers"))]
pub(super) use left_out as provider;
#[cfg(not(feature = "aws"))]
pub(super) use {left_out as dynamodb, left_out as sqs};

/// A Cargo feature of this package that brings backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Amqp,
    Aws,
    Kafka,
    Nats,
    Providers,
}

impl Feature {
    #[cfg(test)]
    pub(super) const ALL: [Self; 5] = [Self::Amqp, Self::Aws, Self::Kafka, Self::Nats, Self::Providers];

    /// Whether this build has it.
    pub(super) const fn is_built(self) -> bool {
        match self {
            Self::Amqp => cfg!(feature = "amqp"),
            Self::Aws => cfg!(feature = "aws"),
            Self::Kafka => cfg!(feature = "kafka"),
            Self::Nats => cfg!(feature = "nats"),
            Self::Providers => cfg!(feature = "providers"),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Amqp => "amqp",
            Self::Aws => "aws",
            Self::Kafka => "kafka",
            Self::Nats => "nats",
            Self::Providers => "providers",
        }
    }

    /// Says how to get a build that has it; continues a sentence after what was asked for.
    pub(super) fn refusal(self) -> String {
        let name = self.name();
        format!(
            "is not part of this build: add `--features {name}`, or build without `--no-default-features`"
        )
    }
}
