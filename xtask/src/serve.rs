//! `cargo xtask serve`: the page in a browser, from a fresh clone.

use crate::tools::Tools;
use anyhow::{Result, bail};
use std::net::{Ipv4Addr, TcpListener};

/// How many ports are tried after the wanted one.
const PORTS_TRIED: u16 = 50;

/// Build the page and serve it on this computer.
///
/// Installs what is missing (the wasm target, wasm-bindgen, trunk), builds an optimised page, serves it on 127.0.0.1,
/// and builds it again when a source file changes. Ctrl-C ends it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask serve
  cargo xtask serve --port 9000 --open
  cargo xtask serve --debug          builds faster, runs slower")]
pub struct Args {
    /// Port; if it is taken, the next free one is used.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Open the page in the default browser.
    #[arg(long)]
    open: bool,
    /// Build without optimisation.
    #[arg(long)]
    debug: bool,
}

/// Runs the command until it is stopped.
pub fn serve(args: &Args) -> Result<bool> {
    let tools = Tools::for_page()?;
    let port = free_port(args.port)?;
    if port != args.port {
        println!("Port {} is taken; using {port}.", args.port);
    }
    println!("Building; the page will be at http://127.0.0.1:{port}/");
    let port = port.to_string();
    let mut trunk = vec!["serve", "--address", "127.0.0.1", "--port", &port, "--skip-version-check"];
    trunk.extend((!args.debug).then_some("--release"));
    trunk.extend(args.open.then_some("--open"));
    tools.run("trunk", &trunk).status()
}

fn free_port(wanted: u16) -> Result<u16> {
    let last = wanted.saturating_add(PORTS_TRIED);
    match (wanted..=last).find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()) {
        Some(port) => Ok(port),
        None => bail!("no free port from {wanted} to {last}; choose another with --port"),
    }
}
