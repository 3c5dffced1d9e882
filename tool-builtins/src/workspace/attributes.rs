//! [`FileAttributes`]: extended attributes of a file, which a file that replaces it needs, too. Access control lists are such attributes.

use std::ffi::CString;
use std::io;

use cap_std::fs::File;
use rustix::buffer::spare_capacity;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Attributes that hold for the bytes of a file: the kernel removes or recomputes them when a file is written.
const OF_BYTES: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Names and values of extended attributes, sorted by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileAttributes(Vec<(CString, Vec<u8>)>);

impl FileAttributes {
    /// Reads the attributes of a file. A file system without attributes has none.
    pub(crate) fn read(file: &File) -> io::Result<Self> {
        let mut list = Vec::new();
        match rustix::fs::flistxattr_query(file) {
            Ok(length) => list.reserve(length),
            Err(error) if is_unsupported(error) => return Ok(Self(Vec::new())),
            Err(error) => return Err(error.into()),
        }
        if list.capacity() > 0 {
            rustix::fs::flistxattr(file, spare_capacity(&mut list))?;
        }
        let names = list
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty() && !OF_BYTES.contains(name))
            .filter_map(|name| CString::new(name).ok());
        let mut attributes = names
            .map(|name| {
                let length = rustix::fs::fgetxattr_query(file, name.as_c_str())?;
                let mut value = Vec::with_capacity(length);
                if length > 0 {
                    rustix::fs::fgetxattr(file, name.as_c_str(), spare_capacity(&mut value))?;
                }
                Ok((name, value))
            })
            .collect::<io::Result<Vec<_>>>()?;
        attributes.sort();
        Ok(Self(attributes))
    }

    /// Gives another file these attributes, and no other ones, such as those that it has from its folder.
    pub(crate) fn apply(&self, file: &File) -> io::Result<()> {
        let present = Self::read(file)?;
        for (name, _) in &present.0 {
            if self.value(name).is_none() {
                rustix::fs::fremovexattr(file, name.as_c_str())?;
            }
        }
        for (name, value) in &self.0 {
            if present.value(name) != Some(value) {
                rustix::fs::fsetxattr(file, name.as_c_str(), value, XattrFlags::empty())?;
            }
        }
        Ok(())
    }

    fn value(&self, name: &CString) -> Option<&Vec<u8>> {
        self.0
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value)
    }
}

fn is_unsupported(error: Errno) -> bool {
    error == Errno::OPNOTSUPP || error == Errno::NOTSUP || error == Errno::NOSYS
}
