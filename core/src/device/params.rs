//! Constants of device models by name, so that a scenario can change one: to ask what if, and to say what was fitted.

/// A constant of a model as a user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name; the unit stands last in it.
    pub name: String,
    /// Its value in the preset.
    pub value: u64,
    /// Least and greatest value it can take.
    pub bounds: [u64; 2],
}

/// Constants that can be listed and set by name.
pub(crate) trait Params {
    /// All constants.
    fn params(&self) -> Vec<Param>;
    /// Sets one whose bounds have been checked; false if there is none of this name.
    fn put(&mut self, name: &str, value: u64) -> bool;
}

/// Declares a plain struct of constants, each with the bounds of what it can take.
macro_rules! spec {
    (
        $(#[$meta:meta])*
        pub(crate) struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty = $least:expr, $most:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::device::params::Params for $name {
            fn params(&self) -> Vec<$crate::device::params::Param> {
                vec![$($crate::device::params::Param {
                    name: stringify!($field).into(),
                    value: u64::from(self.$field),
                    bounds: [$least, $most],
                }),*]
            }

            fn put(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($field) => self.$field = value as $type,)*
                    _ => return false,
                }
                true
            }
        }
    };
}
pub(crate) use spec;
