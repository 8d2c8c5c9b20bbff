//! scratch
use testkit::oracle::{self, Effort, grammar};
use testkit::peer::Peer;
#[test]
fn versions() {
    let (Some(one), Some(other)) = (Peer::redis(), Peer::valkey()) else { return };
    for family in grammar::FAMILIES {
        let report =
            oracle::run(family, one.address, other.address, &Effort::from_environment()).unwrap();
        println!("{report}");
    }
}
