//! `--askpass`: a password typed on the terminal, of which only stars are seen.

use std::io::{self, IsTerminal as _, Write as _};

use rustix::termios::{OptionalActions, tcsetattr};

use super::prompt::unbuffered;

/// Longest password, in bytes.
const MAX_BYTES: usize = 4096;

/// Asks on standard error and reads from standard input: a line as it is if that is no terminal.
///
/// # Errors
/// Standard input can't be read.
pub fn password() -> io::Result<String> {
    let input = io::stdin();
    let cooked = input.is_terminal().then(|| unbuffered(&input)).flatten();
    eprint!("Please input password: ");
    let typed = typed(&input, cooked.is_some());
    if let Some(cooked) = cooked {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(&input, OptionalActions::Drain, &cooked);
        eprintln!();
    }
    Ok(String::from_utf8_lossy(&typed?).into_owned())
}

fn typed(input: &io::Stdin, shows_stars: bool) -> io::Result<Vec<u8>> {
    let mut typed = Vec::new();
    let mut key = [0];
    while rustix::io::read(input, &mut key)? == 1 && typed.len() < MAX_BYTES {
        match key[0] {
            b'\n' | b'\r' => break,
            // Backspace, as either kind of terminal sends it.
            0x7f | 0x08 => {
                if typed.pop().is_some() && shows_stars {
                    eprint!("\x08 \x08");
                }
            }
            byte => {
                typed.push(byte);
                if shows_stars {
                    eprint!("*");
                }
            }
        }
        io::stderr().flush()?;
    }
    Ok(typed)
}
