//! Captures compressed with gzip or zstd, recognised by their first bytes and decompressed while they are read.
//!
//! Nothing is unpacked into memory or onto the disk, so a file that unpacks to any length takes no more memory than its
//! packets do, plus the window of the decoder: 32 KiB for gzip, at most [`MAX_WINDOW`] for zstd.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Largest window of a zstd frame, bytes: what `zstd --long` needs and what `zstd -d` accepts by default. A frame that
/// asks for more is damage.
const MAX_WINDOW: u64 = 128 << 20;

/// Bytes read from the file at once.
const BUFFER: usize = 64 << 10;

/// State of the compressed data at the end of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    /// Not compressed, or complete.
    Whole,
    /// The file ends inside the data of this compression.
    Truncated(&'static str),
    /// The data of this compression is damaged.
    Damaged(&'static str),
}

/// The decompressed bytes of a file. Where its compressed data ends early or is damaged, the bytes end, and
/// [`Unpacked::state`] reports the reason.
pub(crate) struct Unpacked<R> {
    decoder: Decoder<R>,
    state: Packed,
}

#[expect(clippy::large_enum_variant, reason = "one value for each file")]
enum Decoder<R> {
    Plain(BufReader<Watched<R>>),
    Gzip(MultiGzDecoder<BufReader<Watched<R>>>),
    Zstd(Frames<R>),
}

/// The first bytes of a file, at most `most`, decompressed if it is compressed with gzip or zstd.
///
/// # Errors
/// The error of `input`, or [`io::ErrorKind::Unsupported`] if the file has another compression.
pub fn unpacked_head(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut head = vec![];
    Unpacked::new(input)?.take(most).read_to_end(&mut head)?;
    Ok(head)
}

impl<R: Read> Unpacked<R> {
    /// Recognises the compression.
    ///
    /// # Errors
    /// The error of `input`, or [`Foreign`] within [`io::ErrorKind::Unsupported`] if the compression is another one.
    pub(crate) fn new(input: R) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(
            BUFFER,
            Watched { inner: input, head: vec![], ended: false, failed: None },
        );
        let head = input.get_mut().read_head()?;
        if let Some((_, name)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, Foreign(name)));
        }
        let decoder = match head[..] {
            [0x1f, 0x8b, ..] => Decoder::Gzip(MultiGzDecoder::new(input)),
            // A frame, or one that is to be skipped, as `pzstd` writes them.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Decoder::Zstd(Frames::new(input)),
            _ => Decoder::Plain(input),
        };
        Ok(Self { decoder, state: Packed::Whole })
    }

    pub(crate) fn state(&self) -> Packed {
        self.state
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.state != Packed::Whole || buffer.is_empty() {
            return Ok(0);
        }
        let (name, result, source) = match &mut self.decoder {
            Decoder::Plain(input) => return input.read(buffer),
            Decoder::Gzip(gzip) => ("gzip", gzip.read(buffer), gzip.get_mut().get_mut()),
            Decoder::Zstd(frames) => ("zstd", frames.read(buffer), frames.input.get_mut()),
        };
        let Err(error) = result else { return result };
        match source.failed.take() {
            Some(failure) => Err(failure),
            None if error.kind() == io::ErrorKind::Interrupted => Err(error),
            None => {
                let ended = match error.kind() {
                    io::ErrorKind::UnexpectedEof => true,
                    io::ErrorKind::InvalidData => false,
                    _ => name == "zstd" && source.ended,
                };
                self.state = if ended { Packed::Truncated(name) } else { Packed::Damaged(name) };
                Ok(0)
            }
        }
    }
}

/// First bytes of compressions that are not read.
const OTHERS: [(&[u8], &str); 4] = [
    (&[0xfd, b'7', b'z', b'X'], "xz"),
    (b"BZh", "bzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
    (b"PK\x03\x04", "zip"),
];

/// Name of a compression that is not read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Foreign(pub(crate) &'static str);

/// A file that remembers its first bytes, its end and its failure, which decoders do not report apart from damage.
struct Watched<R> {
    inner: R,
    /// Bytes read ahead.
    head: Vec<u8>,
    ended: bool,
    failed: Option<io::Error>,
}

impl<R: Read> Watched<R> {
    /// The first four bytes, which stay unread; fewer if the file is shorter.
    fn read_head(&mut self) -> io::Result<[u8; 4]> {
        (&mut self.inner).take(4).read_to_end(&mut self.head)?;
        let mut head = [0; 4];
        head[..self.head.len()].copy_from_slice(&self.head);
        Ok(head)
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            let count = self.head.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            return Ok(count);
        }
        match self.inner.read(buffer) {
            Ok(count) => {
                self.ended |= count == 0 && !buffer.is_empty();
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let copy = io::Error::new(error.kind(), error.to_string());
                self.failed = Some(error);
                Err(copy)
            }
        }
    }
}

/// The frames of a zstd file, one after another.
struct Frames<R> {
    input: BufReader<Watched<R>>,
    decoder: FrameDecoder,
    /// Whether a frame has begun.
    within: bool,
    /// Reason why the frame ended early; what was decoded until then is still to be read.
    failed: Option<io::Error>,
}

impl<R: Read> Frames<R> {
    fn new(input: BufReader<Watched<R>>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { input, decoder, within: false, failed: None }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within {
                if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                match self.decoder.init(&mut self.input) {
                    Ok(()) => self.within = true,
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                        length,
                        ..
                    })) => {
                        let skipped = io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                        if skipped < u64::from(length) {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                        continue;
                    }
                    Err(error) => return Err(io::Error::other(error)),
                }
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.decoder.is_finished() {
                self.within = false;
                let sums = self.decoder.get_checksum_from_data().zip(self.decoder.get_calculated_checksum());
                if sums.is_some_and(|(stated, calculated)| stated != calculated) {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                continue;
            }
            let one = || BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.input, one()) {
                // The decoder keeps the last window of bytes until the frame ends: an empty last block and a checksum.
                const END: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
                self.decoder.decode_blocks(END, one()).map_err(io::Error::other)?;
                self.failed = Some(io::Error::other(error));
            }
        }
    }
}
