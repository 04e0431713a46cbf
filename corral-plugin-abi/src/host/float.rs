//! The floating-point state of a thread: rounding mode, flush-to-zero, exception masks. A library compiled with
//! `-ffast-math` changes it when it is opened, and any call may; what the host computes afterwards would change with it.

/// Runs foreign code, and puts the control bits of the calling thread back as they were. Covered are x86_64 (MXCSR and
/// the x87 control word) and aarch64 (FPCR); elsewhere nothing is done. The host's generator, when a plugin draws from
/// it, runs in whatever state the plugin is in: generators compute with integers.
#[inline]
pub(super) fn kept<T>(foreign: impl FnOnce() -> T) -> T {
    super::isolated::count_call();
    let _before = Restore(State::now());
    foreign()
}

/// Also when a panic of the host's generator goes through.
struct Restore(State);

impl Drop for Restore {
    #[inline]
    fn drop(&mut self) {
        self.0.restore();
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
struct State {
    mxcsr: u32,
    x87: u16,
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl State {
    /// Denormals are zero, the masks, rounding, flush to zero; the six bits below them only say what happened.
    const CONTROL: u32 = 0xffc0;

    #[inline]
    fn now() -> Self {
        let (mut mxcsr, mut x87) = (0u32, 0u16);
        // SAFETY: both instructions only store to the memory they are given.
        unsafe {
            std::arch::asm!(
                "stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut x87,
                options(nostack, preserves_flags)
            );
        }
        Self { mxcsr, x87 }
    }

    #[inline]
    fn restore(self) {
        let now = Self::now();
        if (now.mxcsr ^ self.mxcsr) & Self::CONTROL != 0 || now.x87 != self.x87 {
            self.write();
        }
    }

    #[cold]
    fn write(self) {
        // SAFETY: the values were in force before; pending x87 exceptions are cleared, so that none is raised here.
        unsafe {
            std::arch::asm!(
                "fnclex", "ldmxcsr [{}]", "fldcw [{}]", in(reg) &raw const self.mxcsr, in(reg) &raw const self.x87,
                options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[derive(Clone, Copy)]
struct State(u64);

#[cfg(all(target_arch = "aarch64", not(miri)))]
impl State {
    #[inline]
    fn now() -> Self {
        let fpcr;
        // SAFETY: reading the register changes nothing.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        Self(fpcr)
    }

    #[inline]
    fn restore(self) {
        if Self::now().0 != self.0 {
            // SAFETY: the value was in force before.
            unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.0, options(nostack, preserves_flags)) };
        }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[derive(Clone, Copy)]
struct State;

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl State {
    fn now() -> Self {
        Self
    }
    fn restore(self) {}
}
