//! The bytes of a library, fixed: what was read and judged is what is opened, whatever happens to the file meanwhile.

use std::io;

/// A copy of the bytes in memory that can no longer be changed, not even by this process. A file that is replaced,
/// overwritten or cut after it was read changes nothing here.
#[derive(Debug)]
pub(super) struct Sealed {
    #[cfg(target_os = "linux")]
    file: std::fs::File,
}

#[cfg(target_os = "linux")]
impl Sealed {
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        use io::Write;
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
        let mut file = std::fs::File::from(memfd_create(
            "corral-plugin",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?);
        file.write_all(bytes)?;
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(Self { file })
    }

    /// The bytes as a descriptor of their own.
    pub(super) fn descriptor(&self) -> io::Result<std::os::fd::OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }
}

#[cfg(not(target_os = "linux"))]
impl Sealed {
    pub(super) fn new(_: &[u8]) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
