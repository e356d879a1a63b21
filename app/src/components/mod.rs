//! What pages share: they show what they are given and load nothing.

pub mod badge;
pub mod choosing;
pub mod decision;
pub mod difference;
pub mod field;
pub mod frame;
pub mod icon;
pub mod lanes;
pub mod notice;
pub mod rows;
pub mod rules;
pub mod saved_views;
pub mod tally;
pub mod time;
pub mod timeline;
