//! The destination as a process of its own: `tallystick-destination [ADDRESS]`. It prints where it listens, and behaves as
//! `PUT /control` tells it.

use std::process::ExitCode;

use tallystick_destination::{Destination, Plan};

#[tokio::main]
async fn main() -> ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let Ok(address) = address.parse() else {
        eprintln!("error: {address} is not an address");
        return ExitCode::FAILURE;
    };
    match Destination::start(address, Plan::default()).await {
        Ok(destination) => {
            println!("http://{}", destination.address());
            destination.join().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: cannot listen on {address}: {error}");
            ExitCode::FAILURE
        }
    }
}
