//! Zstandard files of any number of frames, skippable ones included (RFC 8878), with their checksums verified.

use std::io::{self, Chain, ErrorKind, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window that is unpacked without asking, as in the zstd program: bounds the memory of a bad file.
const WINDOW_MAX: u64 = 128 << 20;

/// Unpacks `source`, which should be buffered.
pub(crate) struct ZstReader<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: Read> ZstReader<R> {
    pub(crate) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_MAX);
        Self { source, decoder, in_frame: false }
    }

    /// Starts the next frame; false at the end of the file.
    fn start_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut magic = [0; 4];
            let got = read_up_to(&mut self.source, &mut magic)?;
            if got == 0 {
                return Ok(false);
            }
            if got < 4 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if (0x184D_2A50..=0x184D_2A5F).contains(&u32::from_le_bytes(magic)) {
                self.skip_frame()?;
                continue;
            }
            let frame: Chain<&[u8], &mut R> = magic.as_slice().chain(&mut self.source);
            self.decoder.reset(frame).map_err(io::Error::other)?;
            self.in_frame = true;
            return Ok(true);
        }
    }

    fn skip_frame(&mut self) -> io::Result<()> {
        let mut length = [0; 4];
        self.source.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
        if skipped < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let (stored, made) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        match stored {
            Some(stored) if made != Some(stored) => Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("checksum of a frame is {made:08x?}, its end says {stored:08x}"),
            )),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for ZstReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame && !self.start_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let got = self.decoder.read(buffer)?;
            if self.decoder.is_finished() && self.decoder.can_collect() == 0 {
                self.end_frame()?;
            }
            if got > 0 {
                return Ok(got);
            }
        }
    }
}

/// Reads until `buffer` is full or the source ends.
pub(crate) fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match source.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
