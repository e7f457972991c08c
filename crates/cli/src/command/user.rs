//! `seawall user`: the users who may administer a pool's server by REST.

use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use api::{Role, USERS_FILE, Users, new_password};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

/// Add, delete and list the users who may administer a server by REST
///
/// They are kept in the pool's folder, with a hash of each password. A running server applies
/// changes at once.
#[derive(clap::Args)]
pub struct User {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Add a user; a password is generated and printed once, unless one is given
    Add {
        /// The name: letters, digits, _, - and dots
        name: String,
        /// The role: admin, readonly, or svm:NAME for the administrator of one SVM
        #[arg(long, value_name = "ROLE", default_value = "admin")]
        role: Role,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// The pool's folder
        #[arg(long, value_name = "DIR")]
        pool: PathBuf,
    },
    /// Delete a user; the next request is refused
    Delete {
        /// The user
        name: String,
        /// The pool's folder
        #[arg(long, value_name = "DIR")]
        pool: PathBuf,
    },
    /// List the users and their roles
    List {
        /// The pool's folder
        #[arg(long, value_name = "DIR")]
        pool: PathBuf,
    },
}

impl User {
    pub fn run(self) -> Result<Answer> {
        match self.action {
            Action::Add { name, role, password_stdin, pool } => {
                let file = file(&pool)?;
                must_be_of_the_pool(&role, &pool)?;
                let (password, is_new) = if password_stdin { (read()?, false) } else { (new_password(), true) };
                Users::change(&file, |users| users.add(&name, role, &password))?;
                if is_new {
                    terminal::line(&format!("password of {name}, shown only now: {password}"));
                }
            }
            Action::Delete { name, pool } => Users::change(&file(&pool)?, |users| users.delete(&name))?,
            Action::List { pool } => {
                Users::read(&file(&pool)?)?.list().for_each(|(name, role)| terminal::line(&format!("{name} {role}")));
            }
        }
        Ok(Answer::Yes)
    }
}

/// The users' file of a pool, which must exist.
fn file(pool: &Path) -> Result<PathBuf> {
    if !pool.is_dir() {
        bail!("--pool {}: there is no such folder; `seawall serve --create` makes a pool", pool.display());
    }
    store::must_be_a_pool(pool)?;
    Ok(pool.join(USERS_FILE))
}

/// The SVM of a role must exist. Otherwise an SVM created later under that name would have an
/// administrator already.
fn must_be_of_the_pool(role: &Role, pool: &Path) -> Result<()> {
    let Role::Svm(svm) = role else { return Ok(()) };
    let svms = store::svms(pool)?;
    if !svms.contains(svm) {
        let there = if svms.is_empty() { "none yet".into() } else { svms.join(", ") };
        bail!("--role {role}: the pool has no SVM {svm}; there are: {there}");
    }
    Ok(())
}

fn read() -> Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("--password-stdin: read the password")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
