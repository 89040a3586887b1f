/// The reason why a value cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The binary format of the type is not known.
    NoDecoder,
    /// The bytes do not have the format of the type.
    Malformed,
}

/// A member of a composite value: its type and its value.
pub(super) type Member<'v> = (u32, Option<&'v [u8]>);

/// The bytes that remain of a value. Numbers are in network byte order.
pub(super) struct Reader<'v>(pub(super) &'v [u8]);

impl<'v> Reader<'v> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'v [u8], Unreadable> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Unreadable::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        self.take(N)?.try_into().map_err(|_| Unreadable::Malformed)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Unreadable> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn i16(&mut self) -> Result<i16, Unreadable> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Unreadable> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Unreadable> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Unreadable> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Unreadable> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Unreadable> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, Unreadable> {
        self.u64().map(f64::from_bits)
    }

    /// A count, which is not negative.
    pub(super) fn length(&mut self) -> Result<usize, Unreadable> {
        usize::try_from(self.i32()?).map_err(|_| Unreadable::Malformed)
    }

    /// A value after its length, which is -1 for NULL.
    pub(super) fn value(&mut self) -> Result<Option<&'v [u8]>, Unreadable> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                self.take(usize::try_from(length).map_err(|_| Unreadable::Malformed)?).map(Some)
            }
        }
    }

    /// The members of a composite value.
    pub(super) fn members(&mut self) -> Result<Vec<Member<'v>>, Unreadable> {
        let count = self.length()?;
        (0..count).map(|_| Ok((self.u32()?, self.value()?))).collect()
    }
}
