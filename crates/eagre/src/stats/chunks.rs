//! Lists that grow by one chunk at a time. Nothing is copied, and little memory is allocated ahead.

use super::room::{Refused, Room};

/// The size of a chunk in bytes.
const CHUNK: usize = 64 << 10;

/// The initial capacity of a list, in elements.
const FIRST: usize = 16;

/// A list that grows by one chunk at a time.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    /// All chunks except the last are full.
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Chunks<T> {
    /// Elements per chunk.
    const EACH: usize = CHUNK / size_of::<T>();

    pub(super) fn new() -> Chunks<T> {
        Chunks { chunks: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends an element.
    pub(super) fn push(&mut self, element: T, room: &Room) -> Result<(), Refused> {
        match self.chunks.last_mut() {
            Some(last) if last.len() < last.capacity() => last.push(element),
            // The first chunk starts small, because there may be many short lists.
            Some(only) if self.len < Self::EACH => {
                let mut larger = room.vector((2 * self.len).min(Self::EACH))?;
                larger.append(only);
                room.give(only.capacity() * size_of::<T>());
                larger.push(element);
                *only = larger;
            }
            _ => {
                let mut chunk = room.vector(if self.len == 0 { FIRST.min(Self::EACH) } else { Self::EACH })?;
                self.chunks.try_reserve(1).map_err(|_| room.refused())?;
                chunk.push(element);
                self.chunks.push(chunk);
            }
        }
        self.len += 1;
        Ok(())
    }

    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / Self::EACH)?.get(at % Self::EACH)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks.get_mut(at / Self::EACH)?.get_mut(at % Self::EACH)
    }
}

/// Byte strings, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Strings {
    chunks: Vec<Vec<u8>>,
}

impl Strings {
    /// Appends a byte string, and returns where it is.
    pub(super) fn push(&mut self, bytes: &[u8], room: &Room) -> Result<u64, Refused> {
        let fits = self.chunks.last().is_some_and(|last| last.capacity() - last.len() >= bytes.len());
        if !fits {
            let least = if self.chunks.is_empty() { CHUNK / 64 } else { CHUNK };
            let chunk = room.vector(bytes.len().max(least))?;
            self.chunks.try_reserve(1).map_err(|_| room.refused())?;
            self.chunks.push(chunk);
        }
        let number = self.chunks.len() - 1;
        let Some(last) = self.chunks.last_mut() else { unreachable!("there is a chunk, or one was made") };
        let at = last.len();
        last.extend_from_slice(bytes);
        Ok((number as u64) << 32 | at as u64)
    }

    /// The byte string at this place.
    pub(super) fn get(&self, at: u64, length: usize) -> &[u8] {
        let start = (at & u64::from(u32::MAX)) as usize;
        &self.chunks[(at >> 32) as usize][start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_where_they_were_put() {
        let room = Room::default();
        let (mut numbers, mut strings, mut places) = (Chunks::new(), Strings::default(), Vec::new());
        for number in 0..100_000_u64 {
            numbers.push(number, &room).unwrap();
            let text = number.to_string().repeat(number as usize % 5);
            places.push((strings.push(text.as_bytes(), &room).unwrap(), text));
        }
        let long = vec![7; 3 * CHUNK];
        let at = strings.push(&long, &room).unwrap();
        assert_eq!(strings.get(at, long.len()), long);
        assert!(places.iter().all(|(at, text)| strings.get(*at, text.len()) == text.as_bytes()));
        assert!((0..100_000).all(|number| numbers.get(number as usize) == Some(&number)));
        assert_eq!((numbers.len(), numbers.get(100_000)), (100_000, None));
    }
}
