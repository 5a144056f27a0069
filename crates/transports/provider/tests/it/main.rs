//! Each provider against a stand-in on loopback that is written from its reference, error bodies included.

mod faults;
mod mailgun;
mod postmark;
mod resend;
mod sendgrid;
mod ses;
mod stand_in;
