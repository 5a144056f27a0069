//! Bad input: a row that cannot be sent ends `failed` with a reason and stops no other; a mistake of the operator is
//! reported once, clearly, and changes nothing.

mod operator;
mod refused;
mod rows;
