//! Numbers: any text is read or refused, and what was read comes back from its own text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use text::float;
use text::long_double::LongDouble;

fuzz_target!(|input: &[u8]| {
    if let Some(value) = float::parse(input) {
        assert_eq!(float::parse(&float::format(value)).map(f64::to_bits), Some(value.to_bits()));
    }
    float::parse_bound(input);
    if let Some(value) = LongDouble::parse(input) {
        value.to_text();
        value.checked_add(value);
    }
});
