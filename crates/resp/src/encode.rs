//! The client's side of writing: commands as arrays of bulk strings.

use crate::reply::push_header;

/// Appends a command with its arguments, name first.
pub fn command<A: AsRef<[u8]>>(out: &mut Vec<u8>, args: &[A]) {
    header(out, args.len());
    for arg in args {
        argument(out, arg.as_ref());
    }
}

/// Appends the start of a command of `count` arguments (its name is the first), which are to
/// follow by [`argument`].
#[inline]
pub fn header(out: &mut Vec<u8>, count: usize) {
    push_header(out, b'*', count);
}

/// Appends one argument.
#[inline]
pub fn argument(out: &mut Vec<u8>, value: &[u8]) {
    push_header(out, b'$', value.len());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn wire_form() {
        let mut out = Vec::new();
        command(&mut out, &["SET", "k", ""]);
        command(&mut out, &["ECHO", &"x".repeat(123)]);
        let long = format!("*2\r\n$4\r\nECHO\r\n$123\r\n{}\r\n", "x".repeat(123));
        assert_eq!(out, [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", long.as_bytes()].concat());
    }
}
