//! Where data lies and how long the head takes to get there: zoned rate, seek curve, rotation. Integers only.
//!
//! One function carries the geometry: the media time of a sector, which is how long a head that starts at sector 0 takes to
//! stream up to it. With the zoned rate `sqrt(ro^2 - (ro^2 - ri^2) x)` it is `2 capacity (ro - rate) / (ro^2 - ri^2)`. A
//! turn is one track, so the angle is the media time modulo a turn, the cylinder is proportional to it, and a transfer
//! takes the difference of two of them: a stream never loses a turn to rounding.

use super::HddSpec;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The fixed shape of a disk.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Geometry {
    sectors: u64,
    /// Rates at the outer and the inner edge, bytes per second.
    outer: u64,
    inner: u64,
    /// Media time for each byte per second that the rate has fallen, ns, in 2^-32.
    fall_ns_q32: u128,
    /// Time of a turn, ns.
    turn_ns: u64,
    /// Media time of the whole disk, ns.
    total_ns: u64,
    cylinders: u64,
    /// The seek curve, ns: constant, times the root, times the fraction of a full stroke.
    seek_ns: [u64; 3],
}

impl Geometry {
    /// A disk of `sectors` sectors; at least one.
    pub(crate) fn new(spec: &HddSpec, sectors: u64) -> Self {
        let sectors = sectors.max(1);
        let (outer, inner) = (spec.outer_rate, spec.inner_rate.min(spec.outer_rate));
        let twice_capacity = u128::from(sectors * SECTOR) * 2 * 1_000_000_000;
        let mut geometry = Self {
            sectors,
            outer,
            inner,
            fall_ns_q32: (twice_capacity << 32)
                .checked_div(u128::from(outer * outer - inner * inner))
                .unwrap_or_default(),
            turn_ns: 60_000_000_000 / u64::from(spec.rpm),
            total_ns: 0,
            cylinders: spec.cylinders.into(),
            seek_ns: [spec.seek_base_ns, spec.seek_root_ns, spec.seek_linear_ns],
        };
        geometry.total_ns = geometry.media_ns(sectors).max(1);
        geometry
    }

    /// Sectors of the disk.
    pub(crate) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Time of a turn, ns.
    pub(crate) fn turn_ns(&self) -> u64 {
        self.turn_ns
    }

    /// Rate at a sector in 2^-32 bytes per second. The intermediate results stay below 2^127: rates are below 2^30, sectors at
    /// most 2^41.
    fn rate_q32(&self, sector: u64) -> u128 {
        let (outer, inner) = (u128::from(self.outer), u128::from(self.inner));
        let square = (outer * outer) << 26;
        let at = u128::from(sector.min(self.sectors));
        let fallen = (((outer * outer - inner * inner) * at) << 26) / u128::from(self.sectors);
        ((square - fallen) << 38).isqrt()
    }

    /// Rate at a sector, bytes per second.
    pub(crate) fn rate(&self, sector: u64) -> u64 {
        (self.rate_q32(sector) >> 32) as u64
    }

    /// Media time of a sector, ns.
    pub(crate) fn media_ns(&self, sector: u64) -> u64 {
        if self.outer == self.inner {
            let bytes = u128::from(sector.min(self.sectors) * SECTOR);
            return (bytes * 1_000_000_000 / u128::from(self.outer)) as u64;
        }
        let fallen = (u128::from(self.outer) << 32).saturating_sub(self.rate_q32(sector));
        ((fallen * self.fall_ns_q32) >> 64) as u64
    }

    /// Sectors that pass under the head at `sector` in `ns`, a short time compared with the whole disk.
    pub(crate) fn passed(&self, sector: u64, ns: u64) -> u64 {
        (u128::from(self.rate(sector)) * u128::from(ns) / (1_000_000_000 * u128::from(SECTOR))) as u64
    }

    /// Sectors of the track at `sector`; at least one.
    pub(crate) fn track(&self, sector: u64) -> u64 {
        self.passed(sector, self.turn_ns).max(1)
    }

    /// Cylinder of a media time, from 0 at the outer edge.
    pub(crate) fn cylinder(&self, media_ns: u64) -> u64 {
        let cylinder = u128::from(media_ns) * u128::from(self.cylinders) / u128::from(self.total_ns);
        (cylinder as u64).min(self.cylinders - 1)
    }

    /// Cylinders of the disk.
    pub(crate) fn cylinders(&self) -> u64 {
        self.cylinders
    }

    /// Time for the arm from one media time to another, ns: `a + b sqrt(d) + c d` for the fraction `d` of a full stroke, and
    /// nothing within a cylinder.
    pub(crate) fn seek_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let cylinders = self.cylinder(from_ns).abs_diff(self.cylinder(to_ns));
        if cylinders == 0 {
            return 0;
        }
        // Below 1, as there is a cylinder more than the longest way.
        let way_q32 = (cylinders << 32) / self.cylinders;
        let root_q32 = (way_q32 << 32).isqrt();
        let [base, root, linear] = self.seek_ns;
        base + ((root * root_q32) >> 32) + ((linear * way_q32) >> 32)
    }

    /// Time from `at_ns` until the place with this media time comes under the head, ns.
    pub(crate) fn wait_ns(&self, media_ns: u64, at_ns: u64) -> u64 {
        (media_ns % self.turn_ns + self.turn_ns - at_ns % self.turn_ns) % self.turn_ns
    }
}
