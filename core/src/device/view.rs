//! What devices look like from inside at one moment, for a picture.

use super::HddView;
use serde::Serialize;

/// The inside of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum DeviceView {
    /// A flash unit.
    Flash(FlashView),
    /// An adapter, seen from one of its volumes.
    Adapter(AdapterView),
    /// A rotating disk.
    Hdd(HddView),
}

/// What a die is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DieWork {
    /// Nothing.
    Idle,
    /// A read.
    Read,
    /// A program.
    Program,
    /// A read while a program is suspended.
    Suspended,
}

/// A flash unit at one moment. A station counts as busy as soon as it is booked, which may be the time of the front end
/// ahead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlashView {
    /// Commands that wait for the front end in their submission queues.
    pub front_waiting: u32,
    /// What each die is at.
    pub dies: Vec<DieWork>,
    /// Whether each channel moves a page.
    pub channels: Vec<bool>,
    /// 4 KiB pages in the write buffer.
    pub buffer_pages: u32,
    /// Pages that it holds.
    pub buffer_capacity: u32,
    /// Writes that wait for room in it.
    pub buffer_waiting: u32,
    /// Whether the link moves data: to the unit, to the host.
    pub link: [bool; 2],
}

/// An adapter at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterView {
    /// Whether each firmware engine works.
    pub engines: Vec<bool>,
    /// The members of this volume.
    pub members: Vec<MemberView>,
    /// Bytes in the write cache, those on their way to a member included, of all volumes.
    pub cache_bytes: u64,
    /// Bytes that it holds; 0: there is none.
    pub cache_limit: u64,
    /// Writes that wait for room in it.
    pub cache_waiting: u32,
    /// Whether the link moves commands and data: to the adapter, to the host.
    pub link: [bool; 2],
}

/// A member disk at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberView {
    /// Commands that it was given, those from the cache included.
    pub in_flight: u32,
    /// Of these, commands with data from the cache.
    pub destaging: u32,
    /// Commands that wait in the adapter.
    pub waiting: u32,
    /// Its own inside.
    pub disk: Box<DeviceView>,
}
