//! The flat types that travel to the browser.
