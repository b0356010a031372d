//! Values as bytes and back, for what passes between the page and its workers. No browser here.
//!
//! One function a type names its fields, for both directions: what is written in an order is read in that order. Both
//! ends run the same build, so nothing is versioned; the patterns name every field, so that a new one is not forgotten.

use crate::config::Change;
use crate::numbers::Numbers;
use crate::twins::{Account, Bar, Moment};
use mqscope_core::check::{Invariant, Violation};
use mqscope_core::report::twins::Pair;
use mqscope_core::report::{
    CpuReport, Heat, JobReport, Latency, ObjectReport, PageCacheReport, Phases, QueueReport, Report, Series,
};

/// Bytes that are being written or read.
#[derive(Debug, Default)]
pub struct Wire {
    bytes: Vec<u8>,
    /// The next byte to read; `None` while it is being written.
    at: Option<usize>,
    cut: bool,
}

/// Names the fields of a type: writes them, or reads them in their place.
pub type Fields<T> = fn(&mut Wire, &mut T);

/// Writes one value.
pub fn write<T>(value: &mut T, fields: Fields<T>) -> Vec<u8> {
    let mut wire = Wire::default();
    fields(&mut wire, value);
    wire.bytes
}

/// Reads one value; `None` where bytes are missing.
pub fn read<T: Default>(bytes: Vec<u8>, fields: Fields<T>) -> Option<T> {
    let mut wire = Wire { bytes, at: Some(0), cut: false };
    let mut value = T::default();
    fields(&mut wire, &mut value);
    (!wire.cut).then_some(value)
}

impl Wire {
    /// A whole number.
    pub fn int(&mut self, value: &mut u64) {
        let Some(at) = self.at else { return self.bytes.extend(value.to_le_bytes()) };
        match self.bytes.get(at..at + 8).and_then(|b| b.try_into().ok()) {
            Some(bytes) => {
                *value = u64::from_le_bytes(bytes);
                self.at = Some(at + 8);
            }
            None => self.cut = true,
        }
    }

    /// A small whole number.
    pub fn small(&mut self, value: &mut u32) {
        let mut wide = u64::from(*value);
        self.int(&mut wide);
        *value = wide as u32;
    }

    fn signed(&mut self, value: &mut i64) {
        let mut bits = value.cast_unsigned();
        self.int(&mut bits);
        *value = bits.cast_signed();
    }

    fn float(&mut self, value: &mut f64) {
        let mut bits = value.to_bits();
        self.int(&mut bits);
        *value = f64::from_bits(bits);
    }

    /// Yes or no.
    pub fn flag(&mut self, value: &mut bool) {
        let mut wide = u64::from(*value);
        self.int(&mut wide);
        *value = wide != 0;
    }

    /// A text.
    pub fn text(&mut self, value: &mut String) {
        let mut len = value.len() as u64;
        self.int(&mut len);
        let Some(at) = self.at else { return self.bytes.extend(value.as_bytes()) };
        let end = at.saturating_add(len as usize);
        match self.bytes.get(at..end) {
            Some(bytes) => {
                *value = String::from_utf8_lossy(bytes).into_owned();
                self.at = Some(end);
            }
            None => self.cut = true,
        }
    }

    /// A list.
    pub fn list<T: Default>(&mut self, list: &mut Vec<T>, fields: Fields<T>) {
        let mut len = list.len() as u64;
        self.int(&mut len);
        if self.at.is_some() {
            list.clear();
            for _ in 0..len {
                let mut value = T::default();
                fields(self, &mut value);
                if self.cut {
                    return;
                }
                list.push(value);
            }
        } else {
            list.iter_mut().for_each(|value| fields(self, value));
        }
    }

    /// A value that may be missing.
    pub fn option<T: Default>(&mut self, value: &mut Option<T>, fields: Fields<T>) {
        let mut there = value.is_some();
        self.flag(&mut there);
        if there {
            fields(self, value.get_or_insert_default());
        } else {
            *value = None;
        }
    }

    fn ints(&mut self, values: &mut [u64]) {
        values.iter_mut().for_each(|v| self.int(v));
    }

    fn floats(&mut self, values: &mut [&mut f64]) {
        values.iter_mut().for_each(|v| self.float(v));
    }

    fn counts(&mut self, values: &mut [&mut u64]) {
        values.iter_mut().for_each(|v| self.int(v));
    }
}

/// A change of policy in the course of a run.
pub fn change(w: &mut Wire, c: &mut Change) {
    let Change { at_ns, rules } = c;
    w.int(at_ns);
    w.text(&mut rules.kernel);
    let mut set: Vec<_> = std::mem::take(&mut rules.set).into_iter().collect();
    w.list(&mut set, |w, (name, value)| {
        w.text(name);
        w.text(value);
    });
    rules.set = set.into_iter().collect();
}

/// Numbers of a run.
pub fn numbers(w: &mut Wire, n: &mut Numbers) {
    let Numbers { report, share, finished } = n;
    w.float(share);
    w.flag(finished);
    self::report(w, report);
}

fn report(w: &mut Wire, r: &mut Report) {
    let Report {
        title,
        kernel,
        end_ns,
        window_ns,
        events,
        state_hash,
        total,
        jobs,
        queues,
        page_cache,
        cpu,
        objects,
        series,
        violations,
        warnings,
    } = r;
    w.text(title);
    w.text(kernel);
    w.counts(&mut [end_ns, window_ns, events]);
    w.text(state_hash);
    job(w, total);
    w.list(jobs, job);
    w.list(queues, queue);
    w.option(page_cache, self::page_cache);
    self::cpu(w, cpu);
    w.list(objects, object);
    self::series(w, series);
    broken(w, violations);
    w.list(warnings, Wire::text);
}

fn latency(w: &mut Wire, l: &mut Latency) {
    let Latency { count, mean_ns, min_ns, max_ns, percentiles_ns } = l;
    w.counts(&mut [count, min_ns, max_ns]);
    w.float(mean_ns);
    w.list(percentiles_ns, Wire::int);
}

fn job(w: &mut Wire, j: &mut JobReport) {
    let JobReport {
        name,
        processes,
        ios,
        reads,
        iops,
        bandwidth,
        file_lock_waits,
        file_lock_wait_ns,
        fsyncs,
        fsyncs_per_s,
        fsync_ns,
        loop_ns,
        slat,
        clat,
        lat,
    } = j;
    w.text(name);
    w.small(processes);
    w.counts(&mut [ios, reads, file_lock_waits, fsyncs]);
    w.floats(&mut [iops, bandwidth, file_lock_wait_ns, fsyncs_per_s, fsync_ns, loop_ns]);
    for part in [slat, clat, lat] {
        latency(w, part);
    }
}

fn queue(w: &mut Wire, q: &mut QueueReport) {
    let QueueReport {
        name,
        requests_per_s,
        merges_per_s,
        mean_sectors,
        await_ns,
        aqu_sz,
        in_flight,
        in_flight_max,
        utilisation,
        iostat_util,
        iostat_aqu_sz,
        phases,
        direct_issued,
        inserted,
        requeued,
        foreign_dispatched,
        runs,
        empty_runs,
        delayed_runs,
        works_delayed,
        works_put_off,
        tag_waits,
        wbt_waits,
        flushes,
    } = q;
    let Phases { q2g_ns, g2i_ns, i2d_ns, d2c_ns, q2c_ns } = phases;
    w.text(name);
    w.small(in_flight_max);
    w.floats(&mut [requests_per_s, merges_per_s, mean_sectors, await_ns, aqu_sz, in_flight]);
    w.floats(&mut [utilisation, iostat_util, iostat_aqu_sz, q2g_ns, g2i_ns, i2d_ns, d2c_ns, q2c_ns]);
    w.counts(&mut [direct_issued, inserted, requeued, foreign_dispatched, runs, empty_runs, delayed_runs]);
    w.counts(&mut [works_delayed, works_put_off, tag_waits, wbt_waits, flushes]);
}

fn page_cache(w: &mut Wire, p: &mut PageCacheReport) {
    let PageCacheReport {
        background_bytes,
        free_run_bytes,
        limit_bytes,
        dirty_bytes,
        dirty_max_bytes,
        written_bytes,
        written_back_bytes,
        kappa,
        throttles,
        throttled_ns,
        hits,
        misses,
        chunks,
        advice_skipped,
    } = p;
    w.float(kappa);
    w.counts(&mut [background_bytes, free_run_bytes, limit_bytes, dirty_bytes, dirty_max_bytes]);
    w.counts(&mut [written_bytes, written_back_bytes, throttles, throttled_ns, hits, misses, chunks]);
    w.int(advice_skipped);
}

fn cpu(w: &mut Wire, c: &mut CpuReport) {
    let CpuReport {
        cpus,
        busy_percent,
        user_ns,
        system_ns,
        irq_ns,
        softirq_ns,
        spin_ns,
        line_ns,
        total_ns,
        context_switches_per_s,
    } = c;
    w.small(cpus);
    w.floats(&mut [busy_percent, user_ns, system_ns, irq_ns, softirq_ns, spin_ns, line_ns, total_ns]);
    w.float(context_switches_per_s);
}

fn object(w: &mut Wire, o: &mut ObjectReport) {
    let ObjectReport { class, kind, members, per_io, count, contended, mean_wait_ns, transfers, lost_ns } = o;
    w.text(class);
    w.text(kind);
    w.small(members);
    w.counts(&mut [count, transfers, lost_ns]);
    w.floats(&mut [per_io, contended, mean_wait_ns]);
}

fn series(w: &mut Wire, s: &mut Series) {
    let Series { bucket_ns, ios, bytes, lat_sum_ns, dirty_bytes, in_flight, spin_ns, heat } = s;
    let Heat { column_ns, low_ns, counts } = heat;
    w.counts(&mut [bucket_ns, column_ns]);
    for values in [bytes, lat_sum_ns, dirty_bytes, spin_ns, low_ns] {
        w.list(values, Wire::int);
    }
    w.list(ios, Wire::small);
    w.list(in_flight, Wire::float);
    w.list(counts, |w, class| w.list(class, Wire::small));
}

/// As plain values, which there are before anything is read.
fn broken(w: &mut Wire, violations: &mut Vec<Violation>) {
    let place = |of| Invariant::ALL.iter().position(|i| *i == of).unwrap_or(0) as u64;
    let taken = std::mem::take(violations).into_iter();
    let mut plain: Vec<_> = taken.map(|v| (v.at_ns, place(v.invariant), v.text)).collect();
    w.list(&mut plain, |w, (at_ns, place, text)| {
        w.counts(&mut [at_ns, place]);
        w.text(text);
    });
    let back = |(at_ns, place, text)| {
        Invariant::ALL.get(place as usize).map(|i| Violation { at_ns, invariant: *i, text })
    };
    violations.extend(plain.into_iter().filter_map(back));
}

/// What the comparison says.
pub fn account(w: &mut Wire, a: &mut Account) {
    let Account { complete, parting, sides, moment, order, sum, bars, most } = a;
    w.flag(complete);
    let [first, second] = sides;
    for text in [parting, first, second, order, sum] {
        w.text(text);
    }
    w.option(moment, |w, Moment { at_ns, event }| {
        w.ints(at_ns);
        w.ints(event);
    });
    w.list(bars, |w, Bar { low_ns, middle_ns, high_ns }| {
        [low_ns, middle_ns, high_ns].into_iter().for_each(|v| w.signed(v));
    });
    w.list(most, |w, (name, pair)| {
        let Pair { task, nth, queued_ns, lat_ns, rq, got_ns } = pair;
        w.text(name);
        let (mut of, [first, second]) = (u32::from(*task), rq);
        [&mut of, nth, first, second].into_iter().for_each(|v| w.small(v));
        *task = of as _;
        [queued_ns, lat_ns, got_ns].into_iter().for_each(|v| w.ints(v));
    });
}
