//! A look at the text before the parser has it: the parser needs stack for each level, and expands entities.

use firstflight_document::{Error, position};

/// Elements within elements that are read; the parser needs stack for each level.
pub(super) const DEEPEST: usize = 256;

/// Refuses elements that are nested too deep, and a DTD that is written in the file: its entities could stand for any amount of
/// text, and its default attributes are not applied. Elements are counted as a parser meets them; where the text is not XML, the
/// count does not matter, since the parser refuses the text there.
pub(super) fn check(text: &str, file: &str) -> Result<(), Error> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(begin) = text[at..].find('<').map(|offset| at + offset) {
        let rest = &text[begin..];
        let after = |open: &str, close: &str| match rest[open.len()..].find(close) {
            Some(offset) => begin + open.len() + offset + close.len(),
            None => text.len(),
        };
        let refuse = |why: String| Err(Error::invalid(why).in_file(file, Some(position(text, begin))));
        at = match rest.as_bytes().get(1) {
            Some(b'!') if rest.starts_with("<!--") => after("<!--", "-->"),
            Some(b'!') if rest.starts_with("<![CDATA[") => after("<![CDATA[", "]]>"),
            Some(b'!') if rest.starts_with("<!DOCTYPE") => {
                let end = outside_quotes(rest, b"[>");
                if rest.as_bytes().get(end) == Some(&b'[') {
                    return refuse(
                        "a DTD that is written in the file is not read; expected <!DOCTYPE with the name of a DTD, or none"
                            .into(),
                    );
                }
                begin + end
            }
            Some(b'?') => after("<?", "?>"),
            Some(b'!') => begin + 2,
            Some(b'/') => {
                depth = depth.saturating_sub(1);
                begin + 2
            }
            _ => {
                let end = outside_quotes(rest, b">");
                depth += usize::from(!rest[..end].ends_with('/'));
                begin + end
            }
        };
        if depth > DEEPEST {
            return refuse(format!("elements are nested more than {DEEPEST} deep"));
        }
    }
    Ok(())
}

/// Length of a tag, up to the first of `ends` outside quotes; a quoted value may have some.
fn outside_quotes(tag: &str, ends: &[u8]) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, byte) if ends.contains(&byte) => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.len()
}
