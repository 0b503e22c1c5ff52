//! Comparing gears: a base is trained in one gear, then continued from the same checkpoint, with the same sample order
//! and unchanged hyper-parameters, in every other gear, in virtual time. A *branch* is one such way to continue.

mod page;
mod report;
