//! Counts allocations in a separate program, so that the counter does not influence other measurements.

use std::alloc::{GlobalAlloc, Layout, System};

use peers::{allocations, clock::Contender, rows};

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: all calls are forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocations::count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocations::count();
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        allocations::count();
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
}

fn main() {
    println!("## Allocations\n\nOf a correct call; asking for more room at the same place counts, too.\n");
    println!("| called through | from `&str` | from `Value` |");
    println!("|---|---|---|");
    for mut row in rows::all() {
        let counts = [a_call(&mut row.from_text), a_call(&mut row.from_value)];
        println!("| {} | {} | {} |", row.name, counts[0], counts[1]);
    }
    println!();
}

/// Returns the number of allocations of a call after many equal ones.
fn a_call(contender: &mut Contender<'_>) -> f64 {
    const CALLS: u16 = 1000;
    contender(u64::from(CALLS));
    allocations::take_measured();
    contender(u64::from(CALLS));
    allocations::take_measured() as f64 / f64::from(CALLS)
}
