//! Bad input: a row that can't be sent ends `failed` with a reason and stops no other; a mistake of the operator is told
//! once, clearly, and changes nothing.

mod operator;
mod refused;
mod rows;
