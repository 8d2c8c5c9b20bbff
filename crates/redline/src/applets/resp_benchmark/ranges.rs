//! Lists of numbers and ranges: databases and cores.

/// Most databases of one run.
const DATABASES_MAX: usize = 100_000;
/// Most cores that are named.
const CORES_MAX: usize = 4_096;

/// Databases, each once, in the order given.
///
/// # Errors
/// The original's sentence.
pub fn databases(text: &str) -> Result<Vec<u32>, String> {
    let mut databases: Vec<u32> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for part in text.split(',') {
        let (first, last) = bounds(part)
            .ok_or("Invalid dbid: use non-negative IDs or ranges, e.g. 0,1,2,255 or 0-2,255")?;
        if first > last {
            let part = part.trim();
            return Err(format!("Invalid dbid range: {part} (start must not exceed end)"));
        }
        let last = u32::try_from(last).map_err(|_| format!("dbid must not exceed {}", u32::MAX))?;
        for database in first as u32..=last {
            if databases.len() == DATABASES_MAX {
                return Err(format!("dbid must not name more than {DATABASES_MAX} databases"));
            }
            if seen.insert(database) {
                databases.push(database);
            }
        }
    }
    Ok(databases)
}

/// Cores in ascending order, each once; `None` if that is no list of them.
pub fn cores(text: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = bounds(part)?;
        if last >= CORES_MAX as u64 {
            return None;
        }
        cores.extend(first as usize..=last as usize);
    }
    cores.sort_unstable();
    cores.dedup();
    (!cores.is_empty()).then_some(cores)
}

/// Both ends of a range; those of a number are that number.
fn bounds(part: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match part.split_once('-') {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => number(part).map(|number| (number, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::{cores, databases};

    #[test]
    fn databases_keep_their_order_and_come_once() {
        assert_eq!(databases("0-2,255"), Ok(vec![0, 1, 2, 255]));
        assert_eq!(databases(" 3 , 1 - 3"), Ok(vec![3, 1, 2]));
        for text in ["", "x", "1-", "-1", "1-2-3", "0,"] {
            let complaint = databases(text).unwrap_err();
            assert!(complaint.starts_with("Invalid dbid: use non-negative"), "{text}: {complaint}");
        }
        assert!(databases("5-4").unwrap_err().starts_with("Invalid dbid range: 5-4 "));
        assert_eq!(databases("4294967296"), Err("dbid must not exceed 4294967295".into()));
        assert!(databases("0-4294967295").unwrap_err().contains("100000"));
    }

    #[test]
    fn cores_are_sorted_and_come_once() {
        assert_eq!(cores("3,0-1,1"), Some(vec![0, 1, 3]));
        for text in ["x", "", ",", "0-99999", "5-4"] {
            assert_eq!(cores(text), None, "{text}");
        }
    }
}
