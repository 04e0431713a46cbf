//! An allocator that counts what each thread asks for, and what the process holds. The one of the workspace: tests of other crates include this file.

#![allow(dead_code, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
    static FREED: Cell<u64> = const { Cell::new(0) };
}

/// What all threads hold, and held at most.
static HELD: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        free(layout.size());
        // SAFETY: what this allocator gave came from the system's, with the same layout.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        free(layout.size());
        // SAFETY: as for `dealloc`; the caller's promise about the size.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    let _ = CALLS.try_with(|c| c.set(c.get() + 1));
    let _ = BYTES.try_with(|b| b.set(b.get() + bytes as u64));
    let held = HELD.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    MOST.fetch_max(held, Relaxed);
}

fn free(bytes: usize) {
    let _ = FREED.try_with(|f| f.set(f.get() + bytes as u64));
    HELD.fetch_sub(bytes as u64, Relaxed);
}

/// Allocations of this thread so far.
pub fn calls() -> u64 {
    CALLS.get()
}

/// Bytes that this thread holds.
pub fn held() -> u64 {
    BYTES.get() - FREED.get()
}

/// Bytes that the process held at most since the last call.
pub fn most() -> u64 {
    MOST.swap(HELD.load(Relaxed), Relaxed)
}

/// Calls and bytes that `work` allocates on this thread.
pub fn allocated(work: impl FnOnce()) -> (u64, u64) {
    let before = (CALLS.get(), BYTES.get());
    work();
    (CALLS.get() - before.0, BYTES.get() - before.1)
}
