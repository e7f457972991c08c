//! The server's view of REST users: whoever serves REST keeps them, and `security login` changes
//! them there.

use admin::{Login, LoginChange};

/// The keeper of the users. An error is a sentence.
pub trait LoginStore: Send {
    /// All of them, by name.
    ///
    /// # Errors
    /// They cannot be read.
    fn list(&self) -> Result<Vec<Login>, String>;

    /// Changes a user, durably; `secret` is the password if one is needed.
    ///
    /// # Errors
    /// It is refused, or cannot be written; then nothing has changed.
    fn change(&self, change: &LoginChange, secret: Option<&str>) -> Result<(), String>;
}

/// The users, as far as a command needs them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Logins<'a> {
    pub store: Option<&'a dyn LoginStore>,
    /// The password that came with the line but is not part of it.
    pub secret: Option<&'a str>,
}

impl Logins<'_> {
    pub fn list(self) -> Result<Vec<Login>, String> {
        self.store.map_or(Ok(Vec::new()), LoginStore::list)
    }

    pub fn change(self, change: &LoginChange) -> Result<(), String> {
        let store = self.store.ok_or("this server keeps no users")?;
        let needs_secret = matches!(change, LoginChange::Create(_) | LoginChange::Password(_));
        if needs_secret && self.secret.is_none() {
            return Err(
                "the password is missing: the shell asks for it, and by REST it is the body's \"password\"".into()
            );
        }
        store.change(change, self.secret)
    }
}
