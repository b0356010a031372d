//! Device models. (Presets; the models follow.)

use serde::Serialize;

/// A device preset as the user sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Preset {
    /// Name used in scenarios.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
}

/// All device presets.
pub const PRESETS: &[Preset] = &[
    Preset { name: "null", label: "null device (fixed time)" },
    Preset { name: "p3700-800", label: "NVMe P3700 800 GB (MLC)" },
    Preset { name: "p4510-2t", label: "NVMe P4510 2 TB (TLC)" },
    Preset { name: "p4800x-375", label: "NVMe P4800X 375 GB (3D XPoint)" },
    Preset { name: "hba-r0-8ssd", label: "RAID HBA volume, RAID0 of 8 SAS SSDs" },
];
