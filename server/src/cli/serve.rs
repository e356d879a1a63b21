//! `tallystick serve`: listens, serves, sweeps, and ends in order.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tallystick_domain::permission::Role;
use tallystick_ledger::Ledger;
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{CliError, open};
use crate::auth::link;
use crate::config::{Config, ServeArgs};
use crate::destination::Destinations;
use crate::executor::Executor;
use crate::tasks;

/// Serves the console and the API.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    pub(super) args: ServeArgs,
    /// If nobody can sign in yet, make one administrator and print a one-time address that signs them in
    #[arg(long)]
    first_admin: bool,
}

pub(super) async fn run(config: &Config, command: &Serve) -> Result<ExitCode, CliError> {
    let end = tasks::signal_to_end().map_err(CliError::Serve)?;
    let listener = listen(config.listen).await?;
    let ledger = open(config).await?;
    let address = listener.local_addr().map_err(CliError::Serve)?;
    if command.first_admin && !ledger.has_people().await? {
        print_link(&make_first_admin(&ledger, &config.base_url(address)).await?);
    }
    serve(config, ledger, listener, end).await
}

async fn make_first_admin(ledger: &Ledger, base_url: &str) -> Result<String, CliError> {
    let new = NewPrincipal {
        login: "admin".to_owned(),
        name: "Administrator".to_owned(),
        role: Role::Administrator,
        password_hash: None,
    };
    let admin = ledger.add_principal(&system_actor(), new).await?;
    Ok(link::make(ledger, &admin.id, base_url).await?)
}

/// The one line that others read: `Sign in: http://127.0.0.1:PORT/sign-in/link/TOKEN`.
pub(super) fn print_link(link: &str) {
    println!("Sign in: {link}");
}

/// Takes the port before anything else is touched.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).await.map_err(|source| CliError::Listen { address, advice: advice_on(&source), source })
}

fn advice_on(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => "The port is in use: end the other process or choose another port with --listen.",
        ErrorKind::PermissionDenied => "Ports below 1024 need rights: choose another port with --listen.",
        ErrorKind::AddrNotAvailable => "This machine has no such address: choose another with --listen.",
        _ => "Choose another address with --listen.",
    }
}

/// Serves until `end`, then lets what is in flight complete, for as long as the limit says.
pub(super) async fn serve(
    config: &Config,
    ledger: Ledger,
    listener: TcpListener,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<ExitCode, CliError> {
    let address = listener.local_addr().map_err(CliError::Serve)?;
    warn_of_plain_http(config, address);
    let (tell, mut ending) = watch::channel(false);
    let router = crate::build_until(config, ledger.clone(), ending.clone()).await?;
    let destinations = Destinations::from_config(&config.destinations)?;
    ledger.configure_destinations(&destinations.for_the_record()).await?;
    let executor = Executor::from_config(config, &ledger, &destinations).map_err(CliError::Serve)?;
    let sweeper = tasks::start_sweeper(ledger.clone(), ending.clone());
    let workflows = tasks::start_workflows(ledger.clone(), ending.clone());
    let counting = tasks::start_counting(ledger.clone(), ending.clone());
    let bulk_runner = tasks::start_bulk_runner(ledger.clone(), ending.clone()).map_err(CliError::Serve)?;
    let executor = executor.map(|executor| executor.start(ending.clone()));
    tracing::info!(address = %address, "Serving on {}", config.base_url(address));
    let served = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async move { tasks::wait_for_end(&mut ending).await })
        .into_future();
    let mut server = tokio::spawn(served);
    let outcome = tokio::select! {
        outcome = &mut server => outcome,
        () = end => {
            tracing::info!("Ending: no new requests; those in flight are awaited");
            tell.send_replace(true);
            let limit = Duration::from_secs(config.limits.shutdown_s);
            if let Ok(outcome) = tokio::time::timeout(limit, &mut server).await {
                outcome
            } else {
                tracing::warn!("Requests were still running after {} s and were cut off", limit.as_secs());
                server.abort();
                Ok(Ok(()))
            }
        }
    };
    tell.send_replace(true);
    drop(sweeper.await);
    drop(workflows.await);
    drop(counting.await);
    drop(bulk_runner.await);
    if let Some(executor) = executor {
        drain(executor, config).await;
    }
    ledger.close().await;
    match outcome {
        Ok(Ok(())) => Ok(ExitCode::SUCCESS),
        Ok(Err(error)) => Err(CliError::Serve(error)),
        Err(error) => Err(CliError::Serve(std::io::Error::other(error))),
    }
}

/// Sends under way are awaited up to their own deadlines: an answer that is not waited for makes an operation uncertain.
async fn drain(executor: tokio::task::JoinHandle<()>, config: &Config) {
    let limit = Duration::from_secs(config.limits.drain_s);
    if tokio::time::timeout(limit, executor).await.is_err() {
        tracing::warn!("Sends were still under way after {} s; their outcomes are to be found out", limit.as_secs());
    }
}

fn warn_of_plain_http(config: &Config, address: SocketAddr) {
    if !config.is_over_tls() && !address.ip().is_loopback() {
        tracing::warn!(
            "Passwords and cookies cross the network unprotected: put a TLS proxy before {address} and name its address with --public-url"
        );
    }
}
