//! The dies: reads first in, first out; a program gives way to reads at its next suspend point.

use super::spec::FlashSpec;
use crate::device::DieWork;
use crate::engine::rng::{self, Purpose};

/// One die.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Die {
    /// When the last read booked so far ends, ns.
    free_ns: u64,
    program: Option<Program>,
    /// Programs begun, as the key of what is drawn for each.
    programs: u32,
}

/// A program under way, with what garbage collection adds to it.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Program {
    /// Number of the first page in it, counted over all pages written.
    pub first_page: u64,
    pub pages: u32,
    pub start_ns: u64,
    /// When it ends unless more reads come in between, ns.
    pub until_ns: u64,
    slc: bool,
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Dies {
    dies: Vec<Die>,
    /// Dies without a program.
    idle: u32,
    /// Where the search for the least busy die begins.
    turn: u32,
}

impl Dies {
    pub(crate) fn new(count: u32) -> Self {
        Self { dies: vec![Die::default(); count as usize], idle: count, turn: 0 }
    }

    /// Books a read that is ready at `ready` and takes `read_ns` on `die`; its start and end, ns.
    ///
    /// While reads follow each other without a gap the program stays suspended. One that finds a program running waits for
    /// the suspend point, or, where this program cannot be suspended, for the end of the tPROG under way. The program
    /// goes on during that wait.
    pub(crate) fn read(
        &mut self,
        die: usize,
        ready: u64,
        read_ns: u64,
        spec: &FlashSpec,
        seed: u64,
    ) -> (u64, u64) {
        let d = &mut self.dies[die];
        let mut start = ready.max(d.free_ns);
        if let Some(program) = &mut d.program
            && program.until_ns > start
        {
            if ready > d.free_ns && ready >= program.start_ns {
                let tprog = spec.tprog_ns(program.slc).max(1);
                let left = program.until_ns - start;
                let this_tprog = (left - 1) % tprog + 1;
                let key = (die as u64) << 48 | u64::from(d.programs) << 16 | ((left - 1) / tprog);
                let stubborn =
                    rng::below(seed, Purpose::Suspend, key, 100) < u64::from(spec.unsuspended_percent);
                start += if stubborn { this_tprog } else { this_tprog.min(spec.suspend_ns) };
            }
            if program.until_ns > start {
                program.until_ns += read_ns;
            }
        }
        d.free_ns = start + read_ns;
        (start, d.free_ns)
    }

    /// Begins a program on the least busy die, if any has none; its number and when it will end.
    pub(crate) fn program(
        &mut self,
        now: u64,
        first_page: u64,
        pages: u32,
        busy_ns: u64,
        slc: bool,
    ) -> Option<(usize, u64)> {
        if self.idle == 0 {
            return None;
        }
        let count = self.dies.len();
        let order = (0..count).map(|i| (self.turn as usize + i) % count);
        let die = order
            .filter(|&d| self.dies[d].program.is_none())
            .min_by_key(|&d| self.dies[d].free_ns.max(now))?;
        self.turn = (die as u32 + 1) % count as u32;
        self.idle -= 1;
        let d = &mut self.dies[die];
        let start_ns = d.free_ns.max(now);
        let until_ns = start_ns + busy_ns;
        d.programs = d.programs.wrapping_add(1);
        d.program = Some(Program { first_page, pages, start_ns, until_ns, slc });
        Some((die, until_ns))
    }

    /// The program of `die` should be over at `now`: it, or the time at which to look again because reads came in between.
    pub(crate) fn program_end(&mut self, now: u64, die: usize) -> Result<Program, u64> {
        let d = &mut self.dies[die];
        match d.program {
            Some(program) if program.until_ns > now => Err(program.until_ns),
            Some(program) => {
                d.program = None;
                self.idle += 1;
                Ok(program)
            }
            None => unreachable!("the end of a program that never began"),
        }
    }

    /// The first page, counted over all pages written, that a program under way holds.
    pub(crate) fn first_page_in_program(&self) -> Option<u64> {
        self.dies.iter().filter_map(|d| d.program.map(|p| p.first_page)).min()
    }

    /// What each die is at.
    pub(crate) fn view(&self, now: u64) -> Vec<DieWork> {
        let work = |d: &Die| match (d.free_ns > now, d.program.is_some()) {
            (true, true) => DieWork::Suspended,
            (true, false) => DieWork::Read,
            (false, true) => DieWork::Program,
            (false, false) => DieWork::Idle,
        };
        self.dies.iter().map(work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: FlashSpec = FlashSpec {
        read_ns: 50,
        program_ns: 1_000,
        waf_percent: 300,
        suspend_ns: 20,
        unsuspended_percent: 0,
        ..FlashSpec::PLAIN
    };

    #[test]
    fn a_read_waits_for_the_suspend_point_and_the_program_loses_only_the_time_of_the_read() {
        let mut dies = Dies::new(1);
        let (_, until) = dies.program(0, 0, 16, SPEC.program_busy_ns(false), false).expect("the die is idle");
        assert_eq!(until, 3_000);
        assert_eq!(dies.read(0, 100, 50, &SPEC, 1), (120, 170));
        // The program is still suspended: no second wait.
        assert_eq!(dies.read(0, 150, 50, &SPEC, 1), (170, 220));
        // It has gone on since: a wait again.
        assert_eq!(dies.read(0, 500, 50, &SPEC, 1), (520, 570));
        assert_eq!(dies.program_end(3_000, 0).expect_err("three reads came in between"), 3_150);
        assert_eq!(dies.program_end(3_150, 0).expect("it is over").pages, 16);
    }

    #[test]
    fn a_program_that_cannot_be_suspended_holds_a_read_until_the_end_of_its_tprog() {
        let mut dies = Dies::new(1);
        let spec = FlashSpec { unsuspended_percent: 100, ..SPEC };
        dies.program(0, 0, 16, spec.program_busy_ns(false), false).expect("the die is idle");
        // Three programs in a row (a write amplification of 3); the second ends at 2000.
        assert_eq!(dies.read(0, 1_300, 50, &spec, 1), (2_000, 2_050));
    }

    #[test]
    fn programs_go_to_the_die_with_the_least_to_read() {
        let mut dies = Dies::new(3);
        dies.read(0, 0, 500, &SPEC, 1);
        dies.read(2, 0, 50, &SPEC, 1);
        let mut take = || dies.program(0, 0, 16, 3_000, false).map(|(die, _)| die);
        assert_eq!([take(), take(), take(), take()], [Some(1), Some(2), Some(0), None]);
    }
}
