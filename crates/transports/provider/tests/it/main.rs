//! Tests of each provider against a fake on loopback that follows its reference, error bodies included.

mod fake_provider;
mod faults;
mod mailgun;
mod postmark;
mod resend;
mod sendgrid;
mod ses;
